"""The status of a job: counters and references of its pods, times, phase and conditions."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import msgspec

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, renewed
from paddle_operator.api.meta import Condition
from paddle_operator.api.paddlejob import ElasticStatus, PaddleJobPhase, PaddleJobStatus, RoleStatus
from paddle_operator.api.references import ObjectReference
from paddle_operator.desired.paddlejob.roles import RoleName, is_elastic, members_of, mode_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State
from paddle_operator.desired.training import numbers
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.observedpod import Bucket, ObservedPod
from paddle_operator.desired.training.supply import Supply, conditions

# More would not fit into an object: the API server takes about 1.5 MB.
MOST_REFERENCES = 500


def status_of(
    snapshot: Snapshot,
    state: State,
    edition: Edition,
    done: frozenset[str] = frozenset(),
    supply: Supply | None = None,
) -> PaddleJobStatus:
    before, now = snapshot.before, snapshot.now
    generation = snapshot.job.metadata.generation
    counted = roles(snapshot, done)
    return PaddleJobStatus(
        phase=state.phase.value,
        mode=mode_of(snapshot.job.spec).value,
        ps=counted.get(RoleName.PS),
        worker=counted.get(RoleName.WORKER),
        heter=counted.get(RoleName.HETER),
        elastic=_elastic(snapshot, state),
        start_time=_start(snapshot, state),
        completion_time=before.completion_time or now if state.has_ended else None,
        restarts=edition.attempt,
        revision=edition.revision,
        observed_generation=generation,
        cache_backend_name=before.cache_backend_name if supply is None else _cache_name(supply),
        conditions=renewed(before.conditions, [*_conditions(state), *_told(supply)], generation, now),
    )


def status_of_ended(snapshot: Snapshot) -> PaddleJobStatus:
    """Keep what was written when the job ended, and count again only the pods that are still there."""
    before, counted = snapshot.before, roles(snapshot)
    return msgspec.structs.replace(
        before,
        ps=_with_past(counted.get(RoleName.PS), before.ps),
        worker=_with_past(counted.get(RoleName.WORKER), before.worker),
        heter=_with_past(counted.get(RoleName.HETER), before.heter),
        completion_time=before.completion_time or snapshot.now,
        observed_generation=snapshot.job.metadata.generation,
    )


def roles(snapshot: Snapshot, done: frozenset[str] = frozenset()) -> dict[RoleName, RoleStatus]:
    """Give the status of each role that has pods, or had some that are done."""
    found = {}
    for role in RoleName:
        pods = [pod for pod in snapshot.pods if pod.role == role]
        completed = [member.index for member in members_of(snapshot.job, role) if member.name in done]
        if pods or completed:
            found[role] = role_status(role, pods, completed)
    return found


def role_status(role: RoleName, pods: Iterable[ObservedPod], completed: list[int]) -> RoleStatus:
    ordered = sorted(pods, key=lambda pod: _number(pod.name, role))
    counted = Counter(pod.bucket for pod in ordered)
    counted[Bucket.SUCCEEDED] = max(counted[Bucket.SUCCEEDED], len(completed))
    return RoleStatus(
        **{bucket.value: counted[bucket] for bucket in Bucket},
        refs=tuple(reference(pod) for pod in ordered[:MOST_REFERENCES]),
        completed=numbers.written_short(completed),
    )


def _number(name: str, role: RoleName) -> tuple[int, str]:
    number = name.rpartition(f"-{role}-")[2]
    return int(number) if number.isascii() and number.isdecimal() else 0, name


def reference(pod: ObservedPod) -> ObjectReference:
    """Name the pod, without its version: that would be another status at every change of it."""
    metadata = pod.manifest["metadata"]
    return ObjectReference(
        api_version="v1", kind="Pod", name=pod.name, namespace=metadata.get("namespace"), uid=metadata.get("uid")
    )


def _with_past(counted: RoleStatus | None, before: RoleStatus | None) -> RoleStatus | None:
    """Keep the number of pods that ended, although they may be deleted by now."""
    now, past = counted or RoleStatus(), before or RoleStatus()
    kept = msgspec.structs.replace(
        now,
        failed=max(now.failed, past.failed),
        succeeded=max(now.succeeded, past.succeeded),
        completed=past.completed,
    )
    return None if kept == RoleStatus() else kept


def _elastic(snapshot: Snapshot, state: State) -> str:
    if not is_elastic(snapshot.job.spec):
        return ""
    match state.phase:
        case PaddleJobPhase.FAILED:
            return ElasticStatus.ERROR.value
        case PaddleJobPhase.RUNNING | PaddleJobPhase.COMPLETED:
            return ElasticStatus.DONE.value
        case PaddleJobPhase.SUSPENDED | PaddleJobPhase.TERMINATING:
            return ElasticStatus.NONE.value
    return ElasticStatus.DOING.value


def _start(snapshot: Snapshot, state: State) -> datetime | None:
    """Remember when it was first seen running; a suspended job starts anew."""
    if state.phase is PaddleJobPhase.SUSPENDED:
        return None
    begun = state.phase in (PaddleJobPhase.RUNNING, PaddleJobPhase.COMPLETED)
    return snapshot.before.start_time or (snapshot.now if begun else None)


def _told(supply: Supply | None) -> tuple[Condition, ...]:
    return () if supply is None else conditions(supply)


def _cache_name(supply: Supply) -> str:
    """Name the cache that the job uses, once there is one: it was told of the job by then."""
    return supply.cache_name if supply.cache is not None else supply.claimed


def _conditions(state: State) -> list[Condition]:
    runs = state.phase is PaddleJobPhase.RUNNING
    found = [condition(names.CONDITION_RUNNING, state.reason, state.message, holds=runs)]
    if state.phase is PaddleJobPhase.COMPLETED:
        found.append(condition(names.CONDITION_SUCCEEDED, state.reason, state.message, holds=True))
    if state.phase is PaddleJobPhase.FAILED:
        found.append(condition(names.CONDITION_FAILED, state.reason, state.message, holds=True))
    return found
