"""What a training pod computes on, as far as its template tells."""

from paddle_operator.desired.training.template import Container, Template

# Resources of everybody's nodes have no slash in their names; those of devices begin with their maker's domain.
MAKER = "/"
# Variables by which users choose devices that no resource tells of.
CHOICES = ("CUDA_", "FLAGS_selected_", "NVIDIA_", "PADDLE_XCCL_BACKEND", "XPU")


def device_type(template: Template) -> str:
    """Give the word that Paddle has for it: cpu, gpu or xpu."""
    devices = [name for name in _resources(template.spec.containers[0]) if MAKER in name]
    if not devices:
        return "cpu"
    return "xpu" if any("xpu" in name.lower() for name in devices) else "gpu"


def computes_on_cpu(template: Template) -> bool:
    """Tell whether a pod certainly has no device.

    Some clusters give devices to whoever does not ask. So it must say what it needs, with no sign of a device in it.
    """
    trains = template.spec.containers[0]
    chosen = [variable.name for variable in trains.env or [] if variable.name.startswith(CHOICES)]
    claims = trains.resources is not None and trains.resources.claims
    named = _resources(trains)
    if chosen or claims or template.spec.runtime_class_name or not named:
        return False
    return not any(MAKER in name for name in named)


def _resources(container: Container) -> set[str]:
    if container.resources is None:
        return set()
    return {*(container.resources.requests or ()), *(container.resources.limits or ())}
