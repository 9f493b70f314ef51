"""When a job ends, starts anew or waits, and what is left of it then."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from paddle_operator.api import names
from paddle_operator.api.paddlejob import CleanPodPolicy, PaddleJobPhase
from paddle_operator.desired.moments import after
from paddle_operator.desired.paddlejob.edition import Fleet, have_succeeded
from paddle_operator.desired.paddlejob.roles import RoleName, is_elastic
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.observedpod import Bucket, ObservedPod, ended_at, restarts, why_failed

CLEANED = {
    PaddleJobPhase.COMPLETED: (CleanPodPolicy.DEFAULT, CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_COMPLETION),
    PaddleJobPhase.FAILED: (CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_FAILURE, CleanPodPolicy.ON_FAILED),
}
FIRST_DELAY = timedelta(seconds=10)
LONGEST_DELAY = timedelta(seconds=360)


@dataclass(frozen=True)
class Verdict:
    """What has become clear of a job: it has ended, or starts anew, now or at a time to come."""

    state: State
    due: datetime | None = None


def verdict_on(snapshot: Snapshot, fleet: Fleet, edition: Edition) -> Verdict | None:
    """Judge by the pods that are there; nothing if the job goes on."""
    if have_succeeded(snapshot.job, fleet):
        who = "workers" if snapshot.job.spec.worker else "pods"
        return Verdict(State(PaddleJobPhase.COMPLETED, names.REASON_COMPLETED, f"all {who} have ended well"))
    if snapshot.job.spec.suspend:
        return None
    failure = _failure(snapshot, fleet, edition)
    if failure is not None and failure.state.has_ended:
        return failure
    return _overdue(snapshot) or failure


def _failure(snapshot: Snapshot, fleet: Fleet, edition: Edition) -> Verdict | None:
    failed = [pod for pod in fleet.of(Bucket.FAILED) if not _is_replaceable(snapshot, pod)]
    if not failed:
        return _unrest(snapshot, fleet, edition)
    words = why_failed(failed[0]) + (f"; {len(failed)} pods failed in all" if len(failed) > 1 else "")
    limit = snapshot.job.spec.backoff_limit or 0
    if edition.attempt >= limit:
        reason = names.REASON_BACKOFF_LIMIT if limit else names.REASON_POD_FAILED
        tried = f"; it was started anew {edition.attempt} times, as often as backoffLimit allows" if limit else ""
        return Verdict(State(PaddleJobPhase.FAILED, reason, words + tried))
    due = _restart_time(failed, edition.attempt)
    later = due if due is not None and due > snapshot.now else None
    when = f" at {later:%Y-%m-%dT%H:%M:%SZ}" if later else ""
    message = f"{words}; all pods start anew{when}, attempt {edition.attempt + 1} of {limit}"
    return Verdict(State(PaddleJobPhase.RESTARTING, names.REASON_RESTARTING, message), later)


def _unrest(snapshot: Snapshot, fleet: Fleet, edition: Edition) -> Verdict | None:
    """Judge pods of which nothing is seen to fail, since their nodes start their containers again and again.

    All that fail together count as one failure, as they do where all pods start anew.
    """
    limit = snapshot.job.spec.backoff_limit
    going_on = [pod for pod in fleet.current.values() if not pod.bucket.is_over]
    worst = max(going_on, key=restarts, default=None)
    if limit is None or worst is None or not restarts(worst) or edition.attempt + restarts(worst) <= limit:
        return None
    message = (
        f"the node of {worst.name} started its containers again {restarts(worst)} times,"
        f" more often than backoffLimit, {limit}, allows"
    )
    return Verdict(State(PaddleJobPhase.FAILED, names.REASON_BACKOFF_LIMIT, message))


def _restart_time(failed: list[ObservedPod], attempt: int) -> datetime | None:
    """Start anew at once the first time, and later each time after."""
    ends = [end for end in map(ended_at, failed) if end is not None]
    if not ends or attempt == 0:
        return None
    return max(ends) + min(FIRST_DELAY * (1 << min(attempt - 1, 10)), LONGEST_DELAY)


def _is_replaceable(snapshot: Snapshot, pod: ObservedPod) -> bool:
    """Tell whether the job trains on without the pod until there is another in its place."""
    return is_elastic(snapshot.job.spec) and pod.role == RoleName.WORKER


def replaced(snapshot: Snapshot, fleet: Fleet) -> tuple[tuple[ObservedPod, ...], timedelta | None]:
    """Give the failed pods to make room for others, and when to look at those that failed just now."""
    failed = [pod for pod in fleet.of(Bucket.FAILED) if _is_replaceable(snapshot, pod)]
    waits = {pod.name: (ended_at(pod) or snapshot.now - FIRST_DELAY) + FIRST_DELAY - snapshot.now for pod in failed}
    later = [wait for wait in waits.values() if wait > timedelta()]
    return tuple(pod for pod in failed if waits[pod.name] <= timedelta()), min(later, default=None)


def deadline_of(snapshot: Snapshot) -> datetime | None:
    """Count from the time at which the job was first seen running, which only the status remembers."""
    start, seconds = snapshot.before.start_time, snapshot.job.spec.active_deadline_seconds
    return None if start is None or seconds is None else after(start, seconds)


def _overdue(snapshot: Snapshot) -> Verdict | None:
    deadline = deadline_of(snapshot)
    if deadline is None or deadline > snapshot.now:
        return None
    seconds = snapshot.job.spec.active_deadline_seconds
    message = f"it was not done {seconds} seconds after its start, as activeDeadlineSeconds asks"
    return Verdict(State(PaddleJobPhase.FAILED, names.REASON_DEADLINE, message))


def is_cleaned(snapshot: Snapshot) -> bool:
    """Tell whether an ended job's pods go, those that have ended too, and their logs with them."""
    policy = snapshot.job.spec.clean_pod_policy or CleanPodPolicy.DEFAULT
    return policy in CLEANED.get(PaddleJobPhase(snapshot.before.phase), ())


def expiry_of(snapshot: Snapshot) -> datetime | None:
    """Give the time at which an ended job itself goes."""
    end, seconds = snapshot.before.completion_time, snapshot.job.spec.ttl_seconds_after_finished
    return None if end is None or seconds is None else after(end, seconds)
