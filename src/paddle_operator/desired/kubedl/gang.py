"""A TFJob's or PyTorchJob's pods scheduled together or none."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.training import TrainingSchedulingPolicy
from paddle_operator.desired.kubedl.frameworks import count, members_of, replicas_of
from paddle_operator.desired.kubedl.network import job_labels
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.training.gang import (
    MISSING,
    Gang,
    gang_object,
    scheduling_for,
    total_requests,
    waits_in_queue,
)
from paddle_operator.desired.training.settings import Scheduling


def scheduling_of(snapshot: Snapshot) -> Scheduling:
    return scheduling_for(snapshot.scheduling, replicas_of(snapshot.job).values())


def gang(snapshot: Snapshot) -> Manifest | None:
    job = snapshot.job
    policy = job.spec.scheduling_policy or TrainingSchedulingPolicy()
    roles = [(count(spec), spec) for spec in replicas_of(job).values()]
    wanted = Gang(
        job,
        job_labels(job),
        policy.min_available or len(members_of(job)),
        total_requests(roles),
        policy.queue or "",
        policy.priority_class_name or "",
    )
    return gang_object(scheduling_of(snapshot), wanted)


def why_impossible(snapshot: Snapshot) -> str:
    """Say why the job cannot be scheduled all or none; nothing if it can, or need not be."""
    return "" if snapshot.gangs_served else MISSING.get(scheduling_of(snapshot), "")


def is_held(snapshot: Snapshot) -> bool:
    return waits_in_queue(scheduling_of(snapshot), snapshot.gangs)
