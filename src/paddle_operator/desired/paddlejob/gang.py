"""All of a job's pods scheduled together or none: by Volcano's PodGroup, or by Kubernetes' own Workload."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import (
    ANNOTATION_POD_GROUP,
    ANNOTATION_VOLCANO_JOB,
    ANNOTATION_VOLCANO_JOB_VERSION,
    ANNOTATION_VOLCANO_QUEUE,
    ANNOTATION_VOLCANO_TASK,
)
from paddle_operator.api.paddlejob import PaddleJob, PaddleSchedulingPolicy
from paddle_operator.desired import quantities
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.paddlejob.network import job_labels
from paddle_operator.desired.paddlejob.roles import Member, is_elastic, roles_of
from paddle_operator.desired.paddlejob.snapshot import Scheduling, Snapshot
from paddle_operator.desired.paddlejob.template import template_of

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
        " switch them on in Kubernetes 1.35, or start the manager without --scheduling"
    ),
}


def scheduling_of(snapshot: Snapshot) -> Scheduling:
    """Say who schedules the job as a gang: nobody where a template asks for a scheduler that does not do it."""
    fitting = {Scheduling.VOLCANO: (None, "", VOLCANO), Scheduling.NATIVE: (None, "", DEFAULT_SCHEDULER)}
    wanted = snapshot.settings.scheduling
    if wanted is Scheduling.NONE:
        return wanted
    asked = [template_of(role).spec.scheduler_name for role in roles_of(snapshot.job.spec).values()]
    return wanted if all(name in fitting.get(wanted, ()) for name in asked) else Scheduling.NONE


def gang(snapshot: Snapshot) -> Manifest | None:
    match scheduling_of(snapshot):
        case Scheduling.VOLCANO:
            return pod_group(snapshot.job)
        case Scheduling.NATIVE:
            return workload(snapshot.job)
    return None


def why_impossible(snapshot: Snapshot) -> str:
    """Say why the job cannot be scheduled all or none; nothing if it can, or need not be."""
    return "" if snapshot.gangs_served else MISSING.get(scheduling_of(snapshot), "")


def is_held(snapshot: Snapshot) -> bool:
    """Tell whether pods must not be made yet."""
    if scheduling_of(snapshot) is not Scheduling.VOLCANO:
        return False
    return all(((found.get("status") or {}).get("phase") or "") in HELD for found in snapshot.gangs)


def pod_group(job: PaddleJob) -> Manifest:
    policy = job.spec.scheduling_policy or PaddleSchedulingPolicy()
    spec = {
        "minMember": smallest(job),
        "minResources": {name: str(value) for name, value in policy.min_resources.items()} or requested(job),
        "queue": policy.queue,
        "priorityClassName": policy.priority_class,
    }
    return {
        "metadata": owned(job, job.metadata.name, job_labels(job)),
        "spec": {name: value for name, value in spec.items() if value},
    }


def workload(job: PaddleJob) -> Manifest:
    definition = job.definition
    return {
        "metadata": owned(job, job.metadata.name, job_labels(job)),
        "spec": {
            "controllerRef": {"apiGroup": definition.group, "kind": definition.kind, "name": job.metadata.name},
            "podGroups": [{"name": GROUP, "policy": {"gang": {"minCount": smallest(job)}}}],
        },
    }


def smallest(job: PaddleJob) -> int:
    """Give how many pods must fit at once: what the user says, the fewest of an elastic job, or all."""
    policy = job.spec.scheduling_policy
    if policy is not None and policy.min_available:
        return policy.min_available
    elastic = is_elastic(job.spec)
    return sum(role.requests if elastic and role.requests else role.replicas for role in roles_of(job.spec).values())


def requested(job: PaddleJob) -> dict[str, str]:
    """Sum up what all containers of all pods request; a container without requests requests its limits."""
    return quantities.total(
        (role.replicas, container.resources.requests or container.resources.limits or {})
        for role in roles_of(job.spec).values()
        for container in template_of(role).spec.containers
        if container.resources is not None
    )


def annotations(snapshot: Snapshot, member: Member) -> dict[str, str]:
    if scheduling_of(snapshot) is not Scheduling.VOLCANO:
        return {}
    policy = snapshot.job.spec.scheduling_policy or PaddleSchedulingPolicy()
    return {
        ANNOTATION_POD_GROUP: snapshot.job.metadata.name,
        ANNOTATION_VOLCANO_TASK: member.role.value,
        ANNOTATION_VOLCANO_JOB: snapshot.job.metadata.name,
        ANNOTATION_VOLCANO_JOB_VERSION: "0",
        ANNOTATION_VOLCANO_QUEUE: policy.queue or "",
    }


def scheduling(snapshot: Snapshot) -> Manifest:
    """Give what a pod's spec says of its gang."""
    match scheduling_of(snapshot):
        case Scheduling.VOLCANO:
            return {"schedulerName": VOLCANO}
        case Scheduling.NATIVE:
            return {"workloadRef": {"name": snapshot.job.metadata.name, "podGroup": GROUP}}
    return {}
