"""The jobs that work on a SampleSet's data now, and so keep it from being deleted; who only waits for it does not."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.api.meta import Record
from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.api.samplejob import SampleJobPhase, SampleJobStatus
from paddle_operator.api.training import TrainingJobStatus
from paddle_operator.control.controller import World
from paddle_operator.controllers.kinds import PADDLE_JOBS, PYTORCH_JOBS, SAMPLE_JOBS, TF_JOBS
from paddle_operator.desired.paddlejob.state import ENDED

Status = TypeVar("Status", bound=Record)


def observe_users(world: World, sample_set: Key, index: str) -> Iterator[str]:
    for job in world.stores[PADDLE_JOBS].find(index, str(sample_set)):
        if has_pods(status_of(job, PaddleJobStatus)):
            yield f"PaddleJob {key_of(job).name}"
    for kind in (TF_JOBS, PYTORCH_JOBS):
        for job in world.stores[kind].find(index, str(sample_set)) if kind in world.stores else ():
            if is_active(status_of(job, TrainingJobStatus)):
                yield f"{kind.kind} {key_of(job).name}"
    for job in world.stores[SAMPLE_JOBS].find(index, str(sample_set)):
        # The runs of a schedule are jobs themselves.
        is_run = not (job.get("spec") or {}).get("schedule") and "deletionTimestamp" not in job["metadata"]
        if is_run and has_begun(status_of(job, SampleJobStatus)):
            yield f"SampleJob {key_of(job).name}"


def status_of(job: Manifest, kind: type[Status]) -> Status:
    """Read a job's status; one that nobody can read counts as none."""
    try:
        return msgspec.convert(job.get("status") or {}, kind)
    except msgspec.ValidationError:
        return kind()


def has_pods(status: PaddleJobStatus) -> bool:
    roles = [role for role in (status.ps, status.worker, status.heter) if role is not None]
    return status.phase not in ENDED and any(
        role.pending + role.starting + role.running + role.unknown for role in roles
    )


def is_active(status: TrainingJobStatus) -> bool:
    return any(replicas.active for replicas in status.replica_statuses.values())


def has_begun(status: SampleJobStatus) -> bool:
    """Tell whether servers were given the work and have not ended it."""
    given = status.phase == SampleJobPhase.PENDING and bool(status.job_name)
    return given or status.phase == SampleJobPhase.RUNNING
