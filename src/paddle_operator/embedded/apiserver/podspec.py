"""What a pod's description asks for beyond its schema, in the words of a real API server."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from decimal import Decimal

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired import quantities
from paddle_operator.embedded.apiserver.metadata import LABEL, LABEL_WORDS, LONGEST_LABEL, SUBDOMAIN
from paddle_operator.embedded.apiserver.refusals import Cause, Why

LABEL_EXAMPLES = f"{LABEL_WORDS} (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL.pattern}')"
VARIABLE = re.compile(r"[ -<>-~]+")
VARIABLE_WORDS = "a valid environment variable name must consist only of printable ASCII characters other than '='"
VARIABLE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
NO_VARIABLE_SOURCE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
SUBSCRIPTED = re.compile(r"(.+)\['.*'\]")
# What a variable can tell of its pod; of the rest it is known what it means, and nothing else.
TOLD = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
UNTOLD = ("metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase")
PORTS = range(1, 65536)
STANDARD = ("cpu", "memory", "ephemeral-storage")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
# Of several in one volume, the first of these is the one that counts.
VOLUME_TYPES = (
    *("emptyDir", "hostPath", "secret", "nfs", "persistentVolumeClaim", "downwardAPI", "configMap"),
    *("projected", "csi", "ephemeral", "image"),
)
# The field that names what is mounted, where the schema leaves it open.
NAMING = {"configMap": "name", "secret": "secretName"}


CONTAINERS = ("containers", "initContainers")


def completed(spec: Manifest) -> Manifest:
    """Give what a pod is taken for: a container asks for what it is limited to, where it does not say."""
    return {**spec, **{place: [_asking(found) for found in spec[place]] for place in CONTAINERS if spec.get(place)}}


def _asking(container: Manifest) -> Manifest:
    resources = container.get("resources") or {}
    requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def faults(spec: Manifest, path: str) -> Iterator[Cause]:
    sound: set[str] = set()
    for number, volume in enumerate(spec.get("volumes") or []):
        found = [*_volume_faults(volume, f"{path}.volumes[{number}]", sound)]
        yield from found
        sound |= set() if found else {volume.get("name", "")}
    if not spec.get("containers"):
        yield Cause(Why.REQUIRED, f"{path}.containers")
    names: set[str] = set()
    for place in CONTAINERS:
        for number, container in enumerate(spec.get(place) or []):
            inside = f"{path}.{place}[{number}]"
            yield from _container_faults(container, inside, sound)
            yield from _duplicates(container.get("name", ""), f"{inside}.name", names)
            ends = place == "initContainers" and container.get("restartPolicy") != "Always"
            yield from _probe_faults(container, inside, ends=ends)
    for name in ("hostname", "subdomain"):
        yield from _label_faults(spec.get(name) or "", f"{path}.{name}")


def _label_faults(name: str, path: str) -> Iterator[Cause]:
    if len(name) > LONGEST_LABEL:
        yield Cause(Why.INVALID, path, f"must be no more than {LONGEST_LABEL} characters", name)
    if name and not LABEL.fullmatch(name):
        has_dots = SUBDOMAIN.fullmatch(name)
        yield Cause(Why.INVALID, path, "must not contain dots" if has_dots else LABEL_EXAMPLES, name)


def _duplicates(name: str, path: str, known: set[str]) -> Iterator[Cause]:
    if name in known:
        yield Cause(Why.DUPLICATE, path, value=name)
    known.add(name)


def _volume_faults(volume: Manifest, path: str, known: AbstractSet[str]) -> Iterator[Cause]:
    given = sorted((name for name in volume if name in VOLUME_TYPES), key=VOLUME_TYPES.index)
    for name in given[:1]:
        described, naming = volume[name] or {}, NAMING.get(name)
        if naming and not described.get(naming):
            yield Cause(Why.REQUIRED, f"{path}.{name}.{naming}")
        if name == "hostPath":
            yield from _backstep_faults(described.get("path", ""), f"{path}.hostPath.path")
    for name in given[1:]:
        yield Cause(Why.FORBIDDEN, f"{path}.{name}", "may not specify more than 1 volume type")
    name = volume.get("name", "")
    yield from _label_faults(name, f"{path}.name")
    if name in known:
        yield Cause(Why.DUPLICATE, f"{path}.name", value=name)


def _backstep_faults(directory: str, path: str) -> Iterator[Cause]:
    if ".." in directory.split("/"):
        yield Cause(Why.INVALID, path, "must not contain '..'", directory)


def _container_faults(container: Manifest, path: str, volumes: AbstractSet[str]) -> Iterator[Cause]:
    yield from _label_faults(container.get("name", ""), f"{path}.name")
    if not container.get("image"):
        yield Cause(Why.REQUIRED, f"{path}.image")
    yield from _port_faults(container.get("ports") or [], f"{path}.ports")
    for number, variable in enumerate(container.get("env") or []):
        yield from _variable_faults(variable, f"{path}.env[{number}]")
    for source in container.get("envFrom") or []:
        yield from _source_faults(source, f"{path}.envFrom")
    yield from _mount_faults(container.get("volumeMounts") or [], f"{path}.volumeMounts", volumes)
    yield from _resource_faults(container.get("resources") or {}, f"{path}.resources")


def _port_faults(ports: list[Manifest], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for number, port in enumerate(ports):
        if port.get("name"):
            yield from _duplicates(port["name"], f"{path}[{number}].name", names)
        for field in ("containerPort", "hostPort"):
            if port.get(field) and port[field] not in PORTS:
                yield Cause(Why.INVALID, f"{path}[{number}].{field}", _between(PORTS), port[field])


def _between(allowed: range) -> str:
    return f"must be between {allowed[0]} and {allowed[-1]}, inclusive"


def _variable_faults(variable: Manifest, path: str) -> Iterator[Cause]:
    name, source = variable.get("name") or "", variable.get("valueFrom")
    if name and not VARIABLE.fullmatch(name):
        yield Cause(Why.INVALID, f"{path}.name", VARIABLE_WORDS, name)
    if source is None:
        return
    given = [name for name in VARIABLE_SOURCES if name in source]
    if "fieldRef" in given:
        yield from _field_faults(
            (source["fieldRef"] or {}).get("fieldPath") or "", f"{path}.valueFrom.fieldRef.fieldPath"
        )
    if not given:
        yield Cause(Why.INVALID, f"{path}.valueFrom", NO_VARIABLE_SOURCE, "")
    elif variable.get("value"):
        yield Cause(Why.INVALID, f"{path}.valueFrom", "may not be specified when `value` is not empty", "")
    elif len(given) > 1:
        yield Cause(Why.INVALID, f"{path}.valueFrom", "may not have more than one field specified at a time", "")


def _field_faults(field: str, path: str) -> Iterator[Cause]:
    if not field or SUBSCRIPTED.fullmatch(field) or field in TOLD:
        return
    if field in UNTOLD:
        supported = ", ".join(f'"{name}"' for name in TOLD)
        yield Cause(Why.UNSUPPORTED, path, f"supported values: {supported}", field)
    else:
        yield Cause(Why.INVALID, path, f"error converting fieldPath: field label not supported: {field}", field)


def _source_faults(source: Manifest, path: str) -> Iterator[Cause]:
    given = [name for name in ("configMapRef", "secretRef") if name in source]
    if not given:
        yield Cause(Why.INVALID, path, "must specify one of: `configMapRef` or `secretRef`", "")
    elif len(given) > 1:
        yield Cause(Why.INVALID, path, "may not have more than one field specified at a time", "")


def _mount_faults(mounts: list[Manifest], path: str, volumes: AbstractSet[str]) -> Iterator[Cause]:
    places: set[str] = set()
    for number, mount in enumerate(mounts):
        name, place, below = mount.get("name", ""), mount.get("mountPath", ""), mount.get("subPath", "")
        if name not in volumes:
            yield Cause(Why.NOT_FOUND, f"{path}[{number}].name", value=name)
        if place in places:
            yield Cause(Why.INVALID, f"{path}[{number}].mountPath", "must be unique", place)
        places.add(place)
        if below.startswith("/"):
            yield Cause(Why.INVALID, f"{path}.subPath", "must be a relative path", below)
        yield from _backstep_faults(below, f"{path}.subPath")


def _resource_faults(resources: Manifest, path: str) -> Iterator[Cause]:
    limits = resources.get("limits") or {}
    for kind in ("limits", "requests"):
        for name, quantity in (resources.get(kind) or {}).items():
            yield from _quantity_faults(name, quantity, f"{path}.{kind}[{name}]")
            if kind == "requests":
                yield from _limit_faults(name, quantity, limits.get(name), path)


def _quantity_faults(name: str, quantity: float | str, path: str) -> Iterator[Cause]:
    if "/" not in name and name not in STANDARD and not name.startswith("hugepages-"):
        yield Cause(Why.INVALID, path, "must be a standard resource type or fully qualified", name)
        yield Cause(Why.INVALID, path, "must be a standard resource for containers", name)
    if _number(quantity) < 0:
        yield Cause(Why.INVALID, path, "must be greater than or equal to 0", str(quantity))
    if "/" in name and _number(quantity) % 1:
        yield Cause(Why.INVALID, path, "must be an integer", str(quantity))


def _limit_faults(name: str, quantity: float | str, limit: float | str | None, path: str) -> Iterator[Cause]:
    """Compare what is asked for with its limit; what is counted by pieces has one, and asks for all of it."""
    by_pieces = "/" in name and "kubernetes.io/" not in name
    if limit is None:
        if by_pieces:
            yield Cause(Why.REQUIRED, f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif by_pieces and _number(quantity) != _number(limit):
        yield Cause(Why.INVALID, f"{path}.requests", f"must be equal to {name} limit of {limit}", str(quantity))
    elif _number(quantity) > _number(limit):
        words = f"must be less than or equal to {name} limit of {limit}"
        yield Cause(Why.INVALID, f"{path}.requests", words, str(quantity))


def _number(quantity: float | str) -> Decimal:
    return quantities.parse(quantity) or Decimal(0)


def _probe_faults(container: Manifest, path: str, *, ends: bool) -> Iterator[Cause]:
    """Judge the probes; a container that ends before the others begin has none."""
    if ends:
        words = "may not be set for init containers without restartPolicy=Always"
        given = [name for name in ("lifecycle", *PROBES) if container.get(name) is not None]
        yield from (Cause(Why.FORBIDDEN, f"{path}.{name}", words) for name in given)
        return
    for name in PROBES:
        probe = container.get(name)
        if probe is None:
            continue
        handlers = [handler for handler in HANDLERS if handler in probe]
        for handler in handlers[1:]:
            yield Cause(Why.FORBIDDEN, f"{path}.{name}.{handler}", "may not specify more than 1 handler type")
        if not handlers:
            yield Cause(Why.REQUIRED, f"{path}.{name}", "must specify a handler type")
        if name != "readinessProbe" and probe.get("successThreshold", 1) not in (0, 1):
            yield Cause(Why.INVALID, f"{path}.{name}.successThreshold", "must be 1", probe["successThreshold"])
