"""Where a job stands, and why, in words for its user."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.training import TrainingJobStatus
from paddle_operator.desired.kubedl.failures import Failures
from paddle_operator.desired.kubedl.frameworks import (
    WORKER,
    Member,
    TrainingJob,
    framework_of,
    members_of,
    needs_all_workers,
    replicas_of,
)
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.moments import after
from paddle_operator.desired.training.fleet import Fleet
from paddle_operator.desired.training.observedpod import Bucket, why_not_running


class Phase(StrEnum):
    """The type of the condition that says where a job stands."""

    CREATED = names.CONDITION_CREATED
    QUEUING = names.CONDITION_QUEUING
    RUNNING = names.CONDITION_RUNNING
    RESTARTING = names.CONDITION_RESTARTING
    SUCCEEDED = names.CONDITION_SUCCEEDED
    FAILED = names.CONDITION_FAILED


REASONS = {
    Phase.CREATED: names.REASON_JOB_CREATED,
    Phase.QUEUING: names.REASON_JOB_ENQUEUED,
    Phase.RUNNING: names.REASON_JOB_RUNNING,
    Phase.RESTARTING: names.REASON_JOB_RESTARTING,
    Phase.SUCCEEDED: names.REASON_JOB_SUCCEEDED,
    Phase.FAILED: names.REASON_JOB_FAILED,
}
ENDED = (Phase.SUCCEEDED, Phase.FAILED)
ACTIVE = (Bucket.RUNNING, Bucket.STARTING)


@dataclass(frozen=True)
class State:
    phase: Phase
    message: str


def end_of(status: TrainingJobStatus) -> Phase | None:
    """Say how a job has ended; that cannot be seen once its pods are gone, so its conditions remember it."""
    for phase in ENDED:
        found = find(status.conditions, phase.value)
        if found is not None and found.status == "True":
            return phase
    return None


def verdict_on(snapshot: Snapshot, fleet: Fleet[Member], failures: Failures) -> State | None:
    """Judge by the pods that are there; nothing if the job goes on."""
    job, kind = snapshot.job, snapshot.job.definition.kind
    if has_succeeded(job, fleet.done):
        return State(Phase.SUCCEEDED, f"{kind} {job.metadata.name} successfully completed.")
    if failures.fatal:
        return State(Phase.FAILED, f"{kind} {job.metadata.name} has failed: {failures.fatal}")
    deadline = deadline_of(snapshot)
    if deadline is None or deadline > snapshot.now:
        return None
    seconds = job.spec.active_deadline_seconds
    return State(Phase.FAILED, f"it was not done {seconds} seconds after its start, as activeDeadlineSeconds asks")


def deadline_of(snapshot: Snapshot) -> datetime | None:
    """Count from the job's first look, and so also while it waits for its data."""
    seconds = snapshot.job.spec.active_deadline_seconds
    return None if seconds is None else after(snapshot.before.start_time or snapshot.now, seconds)


def has_succeeded(job: TrainingJob, done: frozenset[str]) -> bool:
    deciding = next((name for name in framework_of(job).deciding if name in replicas_of(job)), None)
    workers = members_of(job, WORKER) if WORKER in replicas_of(job) else ()
    if deciding is None:
        return bool(members_of(job)) and all(member.name in done for member in members_of(job))
    ended = all(member.name in done for member in members_of(job, deciding))
    if needs_all_workers(job):
        return ended and all(member.name in done for member in workers)
    first_alone = deciding == WORKER and framework_of(job).container == "tensorflow"
    return ended or (first_alone and workers[0].name in done)


def state_of(snapshot: Snapshot, fleet: Fleet[Member], failures: Failures) -> State:
    """Say where a job stands that goes on, from its pods as they are now."""
    job = snapshot.job
    told = f"{job.definition.kind} {job.metadata.name}"
    if failures.counted or failures.new:
        failed = (*failures.new, *failures.counted)
        return State(Phase.RESTARTING, f"{told} is restarting: {failed[0].name} failed and is made anew")
    active = fleet.of(*ACTIVE)
    if any(pod.role in _deciders(job) for pod in active) or (active and _was(snapshot, Phase.RUNNING)):
        return State(Phase.RUNNING, f"{told} is running.")
    waiting = [*fleet.of(Bucket.PENDING, Bucket.UNKNOWN), *fleet.blocked]
    why = next((f"; {pod.name}: {words}" for pod in waiting if (words := why_not_running(pod))), "")
    number = len(members_of(job))
    running = len(fleet.of(*ACTIVE)) + len(fleet.done)
    phase = Phase.RESTARTING if _was(snapshot, Phase.RESTARTING) else Phase.CREATED
    verb = "is restarting" if phase is Phase.RESTARTING else "is created"
    return State(phase, f"{told} {verb}: {number - running} of {number} pods do not run yet{why}")


def _was(snapshot: Snapshot, phase: Phase) -> bool:
    known = find(snapshot.before.conditions, phase.value)
    return known is not None and known.status == "True"


def _deciders(job: TrainingJob) -> set[str]:
    present = [name for name in framework_of(job).deciding if name in replicas_of(job)]
    return {name.lower() for name in (present[:1] or replicas_of(job))}
