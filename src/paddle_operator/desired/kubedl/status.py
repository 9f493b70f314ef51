"""The status of a job: its pods by type, times, and the conditions of which the last is its state."""

import msgspec

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find, renewed
from paddle_operator.api.meta import Condition
from paddle_operator.api.training import ReplicaStatus, TrainingJobStatus
from paddle_operator.desired.kubedl.frameworks import members_of, replicas_of
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.kubedl.state import ACTIVE, ENDED, REASONS, Phase, State
from paddle_operator.desired.training import numbers
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.observedpod import Bucket
from paddle_operator.desired.training.supply import conditions


def status_of(snapshot: Snapshot, state: State, edition: Edition, done: frozenset[str]) -> TrainingJobStatus:
    before, metadata, supply = snapshot.before, snapshot.job.metadata, snapshot.supply
    told = [*conditions(supply), *_conditions(snapshot, state)]
    return TrainingJobStatus(
        conditions=renewed(before.conditions, told, metadata.generation, snapshot.now),
        replica_statuses=replica_statuses(snapshot, done),
        start_time=before.start_time or snapshot.now,
        completion_time=before.completion_time or snapshot.now if state.phase in ENDED else None,
        restarts=before.restarts,
        revision=edition.revision,
        last_reconcile_time=before.last_reconcile_time,
        model_version_name=before.model_version_name,
        cache_backend_name=supply.cache_name if supply.cache is not None else before.cache_backend_name,
        observed_generation=metadata.generation,
    )


def status_of_ended(snapshot: Snapshot) -> TrainingJobStatus:
    """Keep what was written when the job ended, and count only who still runs."""
    before = snapshot.before
    active = {name: status.active for name, status in replica_statuses(snapshot, frozenset()).items()}
    return msgspec.structs.replace(
        before,
        replica_statuses={
            name: msgspec.structs.replace(status, active=active.get(name, 0))
            for name, status in before.replica_statuses.items()
        },
        completion_time=before.completion_time or snapshot.now,
        observed_generation=snapshot.job.metadata.generation,
    )


def replica_statuses(snapshot: Snapshot, done: frozenset[str]) -> dict[str, ReplicaStatus]:
    found = {}
    for name in replicas_of(snapshot.job):
        pods = [pod for pod in snapshot.pods if pod.role == name.lower()]
        completed = [member.index for member in members_of(snapshot.job, name) if member.name in done]
        failed = [pod for pod in pods if pod.bucket is Bucket.FAILED]
        reasons = [(pod.manifest.get("status") or {}).get("reason") for pod in failed]
        found[name] = ReplicaStatus(
            active=sum(pod.bucket in ACTIVE for pod in pods),
            succeeded=max(sum(pod.bucket is Bucket.SUCCEEDED for pod in pods), len(completed)),
            failed=len(failed),
            evicted=reasons.count("Evicted"),
            completed=numbers.written_short(completed),
        )
    return found


def _conditions(snapshot: Snapshot, state: State) -> list[Condition]:
    """Put the state last, as the column of `kubectl get` reads it."""
    job, phase = snapshot.job, state.phase
    created = f"{job.definition.kind} {job.metadata.name} is created."
    waits = phase is Phase.CREATED
    found = [_true(Phase.CREATED, state.message if waits else created)]
    if waits:
        return found
    ran = find(snapshot.before.conditions, names.CONDITION_RUNNING)
    if phase in ENDED and ran is not None:
        found.append(condition(names.CONDITION_RUNNING, REASONS[phase], state.message, holds=False))
    return [*found, _true(phase, state.message)]


def _true(phase: Phase, message: str) -> Condition:
    return condition(phase.value, REASONS[phase], message, holds=True)
