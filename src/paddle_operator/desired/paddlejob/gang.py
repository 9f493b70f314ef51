"""A PaddleJob's pods scheduled together or none."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob, PaddleSchedulingPolicy, Role
from paddle_operator.desired.paddlejob.network import job_labels
from paddle_operator.desired.paddlejob.roles import Member, is_elastic, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.training.gang import (
    MISSING,
    Gang,
    gang_object,
    pod_annotations,
    pod_scheduling,
    scheduling_for,
    total_requests,
    waits_in_queue,
)
from paddle_operator.desired.training.settings import Scheduling


def scheduling_of(snapshot: Snapshot) -> Scheduling:
    return scheduling_for(snapshot.settings.scheduling, roles_of(snapshot.job.spec).values())


def gang(snapshot: Snapshot) -> Manifest | None:
    return gang_object(scheduling_of(snapshot), gang_of(snapshot.job))


def gang_of(job: PaddleJob) -> Gang:
    policy = _policy(job)
    asked = {name: str(value) for name, value in policy.min_resources.items()}
    roles = [(_fewest(job, role), role) for role in roles_of(job.spec).values()]
    return Gang(
        job,
        job_labels(job),
        smallest(job),
        asked or total_requests(roles),
        policy.queue or "",
        policy.priority_class or "",
    )


def why_impossible(snapshot: Snapshot) -> str:
    """Say why the job cannot be scheduled all or none; nothing if it can, or need not be."""
    return "" if snapshot.gangs_served else MISSING.get(scheduling_of(snapshot), "")


def is_held(snapshot: Snapshot) -> bool:
    """Tell whether pods must not be made yet."""
    return waits_in_queue(scheduling_of(snapshot), snapshot.gangs)


def smallest(job: PaddleJob) -> int:
    """Give how many pods must fit at once: what the user says, the fewest of an elastic job, or all."""
    if (asked := _policy(job).min_available) is not None and asked:
        return asked
    return sum(_fewest(job, role) for role in roles_of(job.spec).values())


def _fewest(job: PaddleJob, role: Role) -> int:
    return role.requests if is_elastic(job.spec) and role.requests else role.replicas


def annotations(snapshot: Snapshot, member: Member) -> dict[str, str]:
    job = snapshot.job
    return pod_annotations(scheduling_of(snapshot), job.metadata.name, member.role.value, _policy(job).queue or "")


def scheduling(snapshot: Snapshot) -> Manifest:
    """Give what a pod's spec says of its gang."""
    return pod_scheduling(scheduling_of(snapshot), snapshot.job.metadata.name)


def _policy(job: PaddleJob) -> PaddleSchedulingPolicy:
    return job.spec.scheduling_policy or PaddleSchedulingPolicy()
