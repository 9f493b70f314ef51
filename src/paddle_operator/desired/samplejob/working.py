"""A job on its way: begun when nothing is in its way, then looked after until all parts ended, or it is stopped."""

from dataclasses import replace
from datetime import datetime

import msgspec

from paddle_operator.api import names
from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase, SampleJobStatus
from paddle_operator.desired.moments import after
from paddle_operator.desired.samplejob.decision import Decision
from paddle_operator.desired.samplejob.ending import with_own, without_own
from paddle_operator.desired.samplejob.orders import job_name, problem, targets
from paddle_operator.desired.samplejob.partitions import Look, Part, agreed, left_over, looked_at
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.samplejob.status import status_of, with_results
from paddle_operator.desired.samplejob.waiting import Wait, wait_of
from paddle_operator.desired.sampleset import errands as pauses
from paddle_operator.desired.telling import Refusal

AT_ONCE_SECONDS = 0.15
# Nobody tells of a Secret that comes, nor of an order that is refused.
LACK_PAUSE_SECONDS = 5.0
ANSWER_SECONDS = 1.0
MOST_TOLD = 3


def begin(snapshot: Snapshot) -> Decision:
    """Choose the servers and write them down before any of them is told anything; what other options asked for ends."""
    snapshot = _afresh(snapshot)
    others = tuple(left_over(snapshot))
    if (stop := _terminated(snapshot)) is not None:
        return replace(_failed(snapshot, stop, ()), errands=others)
    if (wait := wait_of(snapshot)) is not None:
        return replace(_waiting(snapshot, wait), errands=others)
    if message := problem(snapshot):
        return replace(_failed(snapshot, Refusal(names.REASON_INVALID, message), ()), errands=others)
    status = status_of(snapshot, SampleJobPhase.PENDING, names.REASON_GIVEN, "its servers are told to begin")
    status = msgspec.structs.replace(
        status,
        job_name=job_name(snapshot.job),
        start_time=snapshot.now,
        results=targets(snapshot),
    )
    return Decision(status, finalizers=with_own(snapshot), errands=others, look_again=AT_ONCE_SECONDS)


def _afresh(snapshot: Snapshot) -> Snapshot:
    """Forget what was done with other options; only since when conditions hold is kept."""
    status = SampleJobStatus(conditions=snapshot.before.conditions)
    return replace(snapshot, job=msgspec.structs.replace(snapshot.job, status=status))


def _waiting(snapshot: Snapshot, wait: Wait) -> Decision:
    status = status_of(snapshot, SampleJobPhase.PENDING, wait.reason, wait.message)
    again = LACK_PAUSE_SECONDS if wait.reason == names.REASON_SECRET_NOT_EXIST else None
    return Decision(status, look_again=again)


def go_on(snapshot: Snapshot) -> Decision:
    stop = _stop(snapshot)
    looks = [looked_at(snapshot, result, stops=stop is not None) for result in snapshot.before.results]
    results = tuple(look.result for look in looks)
    if all(look.is_over for look in looks):
        return _over(snapshot, results, stop)
    errands = (*(look.errand for look in looks if look.errand is not None), *left_over(snapshot))
    begun = any(result.phase not in (Part.NONE, Part.QUEUED) for result in results)
    phase = SampleJobPhase.RUNNING if begun else SampleJobPhase.PENDING
    reason = stop.reason if stop else names.REASON_RUNNING if begun else names.REASON_GIVEN
    status = status_of(snapshot, phase, reason, _told(looks, stop))
    decision = Decision(with_results(status, results), with_own(snapshot), errands)
    decision = replace(decision, look_again=ANSWER_SECONDS if errands else None)
    return decision.looked_at_again(snapshot.now, _deadline(snapshot), *(look.due for look in looks))


def _stop(snapshot: Snapshot) -> Refusal | None:
    """Say why the work is to end before it is done."""
    deadline = _deadline(snapshot)
    if deadline is not None and deadline <= snapshot.now:
        seconds = snapshot.job.spec.active_deadline_seconds
        return Refusal(names.REASON_DEADLINE, f"it was cancelled after {seconds} s, its activeDeadlineSeconds")
    return _terminated(snapshot)


def _deadline(snapshot: Snapshot) -> datetime | None:
    seconds, begun = snapshot.job.spec.active_deadline_seconds, snapshot.before.start_time
    return None if seconds is None or begun is None else after(begun, seconds)


def _terminated(snapshot: Snapshot) -> Refusal | None:
    """Give way to a job that terminates others and waits for this one; the set's own work it does not touch."""
    mine, begun = (snapshot.created, snapshot.job.metadata.name), bool(snapshot.before.job_name)
    for rival in snapshot.rivals:
        waits = not rival.begun and not rival.lacks
        if rival.terminates and waits and (begun or mine < (rival.created, rival.name)):
            return Refusal(names.REASON_TERMINATED, f"SampleJob {rival.name}, which has terminate: true, cancelled it")
    return None


def _told(looks: list[Look], stop: Refusal | None) -> str:
    done = sum(look.is_over for look in looks)
    message = f"{done} of {len(looks)} servers are done"
    wrong = _wrong(tuple(look.result for look in looks))
    parts = [f"{stop.message}, and its servers are told so" if stop else "", message, wrong]
    return "; ".join(part for part in parts if part)


def _wrong(results: tuple[PartitionResult, ...]) -> str:
    """Name the servers of which something is wrong, whoever else is still at work."""
    bad = [found for found in results if found.phase in (Part.FAILED, Part.LOST) or found.away_since]
    told = [f"{found.pod}: {found.message or 'failed'}" for found in bad[:MOST_TOLD]]
    more = [f"and {len(bad) - MOST_TOLD} more"] if len(bad) > MOST_TOLD else []
    return "; ".join([*told, *more])


def _over(snapshot: Snapshot, results: tuple[PartitionResult, ...], stop: Refusal | None) -> Decision:
    results = agreed(results)
    failed = [found for found in results if found.phase != Part.SUCCEEDED]
    type_ = snapshot.job.spec.type
    if not failed:
        done = names.samplejob_reason("done", type_)
        extra = "; ".join(f"{found.pod}: {found.message}" for found in results[:MOST_TOLD] if found.message)
        message = f"all {len(results)} servers are done" + (f"; {extra}" if extra else "")
        status = with_results(status_of(snapshot, SampleJobPhase.SUCCEEDED, done, message), results)
        return Decision(status, finalizers=without_own(snapshot), look_again=AT_ONCE_SECONDS)
    if stop is None and snapshot.before.retries < (snapshot.job.spec.backoff_limit or 0):
        return _again(snapshot, results)
    why = Refusal(names.samplejob_reason("failed", type_), _wrong(results))
    return _failed(snapshot, stop or why, results)


def _failed(snapshot: Snapshot, why: Refusal, results: tuple[PartitionResult, ...]) -> Decision:
    """End it; who was lost is still looked after: what it may yet be doing is cancelled when it comes back."""
    status = with_results(status_of(snapshot, SampleJobPhase.FAILED, why.reason, why.message), results)
    status = msgspec.structs.replace(status, job_name=job_name(snapshot.job), retry_time=None)
    kept = any(found.phase == Part.LOST for found in results)
    return Decision(status, finalizers=None if kept else without_own(snapshot), look_again=AT_ONCE_SECONDS)


def _again(snapshot: Snapshot, results: tuple[PartitionResult, ...]) -> Decision:
    """Give what failed to its servers once more, after a pause that grows."""
    before = snapshot.before
    doublings = min(before.retries, pauses.MOST_DOUBLINGS)
    due = before.retry_time or snapshot.now + min(pauses.LONGEST_PAUSE, pauses.FIRST_PAUSE * 2**doublings)
    message = f"try {before.retries + 1} failed, and is followed by another; {_wrong(results)}"
    status = status_of(snapshot, SampleJobPhase.RUNNING, names.REASON_RETRYING, message)
    if due > snapshot.now:
        status = msgspec.structs.replace(with_results(status, results), retry_time=due)
        return Decision(status, with_own(snapshot)).looked_at_again(snapshot.now, due, _deadline(snapshot))
    left = tuple(
        found if found.phase == Part.SUCCEEDED else PartitionResult(found.pod, found.partition) for found in results
    )
    status = msgspec.structs.replace(with_results(status, left), retries=before.retries + 1, retry_time=None)
    return Decision(status, with_own(snapshot), look_again=AT_ONCE_SECONDS)
