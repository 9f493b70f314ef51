"""All of a job's pods scheduled together or none: by Volcano's PodGroup, or by Kubernetes' own Workload."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import (
    ANNOTATION_POD_GROUP,
    ANNOTATION_VOLCANO_JOB,
    ANNOTATION_VOLCANO_JOB_VERSION,
    ANNOTATION_VOLCANO_QUEUE,
    ANNOTATION_VOLCANO_TASK,
)
from paddle_operator.desired import quantities
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.desired.training.template import Templated, template_of

VOLCANO = "volcano"
DEFAULT_SCHEDULER = "default-scheduler"
# A group that Volcano has not let in yet; its pods would only be in the way.
HELD = ("", "Pending")
GROUP = "pods"
MISSING = {
    Scheduling.VOLCANO: (
        "the manager runs with --scheduling=volcano, and the cluster has no PodGroups of scheduling.volcano.sh/v1beta1:"
        " install Volcano, or start the manager without --scheduling"
    ),
    Scheduling.NATIVE: (
        "the manager runs with --scheduling=native, and the cluster has no Workloads of scheduling.k8s.io/v1alpha1:"
        " switch on this alpha API of Kubernetes 1.35, or start the manager without --scheduling"
    ),
}


@dataclass(frozen=True)
class Gang:
    """The pods of a job: how many must fit at once, what they ask for together, and where they queue."""

    job: Kind
    labels: Mapping[str, str]
    smallest: int
    requested: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    priority_class: str = ""


def scheduling_for(wanted: Scheduling, templates: Iterable[Templated]) -> Scheduling:
    """Say who schedules the job as a gang: nobody where a template asks for a scheduler that does not do it."""
    fitting = {Scheduling.VOLCANO: (None, "", VOLCANO), Scheduling.NATIVE: (None, "", DEFAULT_SCHEDULER)}
    if wanted is Scheduling.NONE:
        return wanted
    asked = [template_of(found).spec.scheduler_name for found in templates]
    return wanted if all(name in fitting.get(wanted, ()) for name in asked) else Scheduling.NONE


def gang_object(scheduling: Scheduling, gang: Gang) -> Manifest | None:
    match scheduling:
        case Scheduling.VOLCANO:
            return pod_group(gang)
        case Scheduling.NATIVE:
            return workload(gang)
    return None


def waits_in_queue(scheduling: Scheduling, gangs: Iterable[Manifest]) -> bool:
    """Tell whether pods must not be made yet."""
    if scheduling is not Scheduling.VOLCANO:
        return False
    return all(((found.get("status") or {}).get("phase") or "") in HELD for found in gangs)


def pod_group(gang: Gang) -> Manifest:
    spec = {
        "minMember": gang.smallest,
        "minResources": dict(gang.requested),
        "queue": gang.queue,
        "priorityClassName": gang.priority_class,
    }
    return {
        "metadata": owned(gang.job, gang.job.metadata.name, dict(gang.labels)),
        "spec": {name: value for name, value in spec.items() if value},
    }


def workload(gang: Gang) -> Manifest:
    definition, name = gang.job.definition, gang.job.metadata.name
    return {
        "metadata": owned(gang.job, name, dict(gang.labels)),
        "spec": {
            "controllerRef": {"apiGroup": definition.group, "kind": definition.kind, "name": name},
            "podGroups": [{"name": GROUP, "policy": {"gang": {"minCount": gang.smallest}}}],
        },
    }


def total_requests(roles: Iterable[tuple[int, Templated]]) -> dict[str, str]:
    """Sum up what all containers of all pods request: of a resource without a request, its limit."""
    return quantities.total(
        (replicas, {**(container.resources.limits or {}), **(container.resources.requests or {})})
        for replicas, role in roles
        for container in template_of(role).spec.containers
        if container.resources is not None
    )


def pod_annotations(scheduling: Scheduling, job: str, role: str, queue: str) -> dict[str, str]:
    if scheduling is not Scheduling.VOLCANO:
        return {}
    return {
        ANNOTATION_POD_GROUP: job,
        ANNOTATION_VOLCANO_TASK: role,
        ANNOTATION_VOLCANO_JOB: job,
        ANNOTATION_VOLCANO_JOB_VERSION: "0",
        ANNOTATION_VOLCANO_QUEUE: queue,
    }


def pod_scheduling(scheduling: Scheduling, job: str) -> Manifest:
    """Give what a pod's spec says of its gang."""
    match scheduling:
        case Scheduling.VOLCANO:
            return {"schedulerName": VOLCANO}
        case Scheduling.NATIVE:
            return {"workloadRef": {"name": job, "podGroup": GROUP}}
    return {}
