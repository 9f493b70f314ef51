"""Pods that failed: which are made anew, how often, and when the job fails with them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from paddle_operator.api.training import RestartPolicy
from paddle_operator.desired.kubedl.frameworks import Member, framework_of, members_of, replicas_of, restart_policy
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.training.fleet import Fleet
from paddle_operator.desired.training.observedpod import (
    Bucket,
    ObservedPod,
    created_at,
    ended_at,
    exit_codes,
    restarts,
    why_failed,
)

# Killed by a signal from outside: somebody else may need the machine, and the next try may do.
RETRYABLE = frozenset({130, 137, 138, 143})
# Given up by a node, through no fault of the program: taken away, ended as it shut down (Terminated), or never let in.
LOST = frozenset(
    {
        "OOMKilled",
        "Killed",
        "Evicted",
        "NodeLost",
        "Preempting",
        "Terminated",
        "NodeShutdown",
        "NodeAffinity",
        "UnexpectedAdmissionError",
    }
)
# A kubelet that lacks something says of what: OutOfcpu, OutOfmemory, OutOfnvidia.com/gpu.
LACKING = "OutOf"
FIRST_DELAY = timedelta(seconds=10)
LONGEST_DELAY = timedelta(seconds=360)


@dataclass(frozen=True)
class Failures:
    """`fatal` says why the job fails. `counted` are known as failed already, and `new` are not; both are made anew.

    `ready` are those of the counted whose time has come, `due` when that of the first other does.
    """

    fatal: str = ""
    counted: tuple[ObservedPod, ...] = ()
    new: tuple[ObservedPod, ...] = ()
    ready: tuple[ObservedPod, ...] = ()
    due: datetime | None = None


def failures_of(snapshot: Snapshot, fleet: Fleet[Member]) -> Failures:
    failed = fleet.of(Bucket.FAILED)
    final = [pod for pod in failed if not is_replaceable(snapshot, pod)]
    if final:
        more = f"; {len(final)} pods failed in all" if len(final) > 1 else ""
        return Failures(why_failed(final[0]) + more)
    known = set(snapshot.before.restarting)
    counted = tuple(pod for pod in failed if uid(pod) in known)
    new = tuple(pod for pod in failed if uid(pod) not in known)
    if too_often := _too_often(snapshot, fleet, new):
        return Failures(too_often, counted, new)
    # A pod that its node did not let in has no containers that ended.
    ends = {pod.name: (ended_at(pod) or created_at(pod) or snapshot.now) + _delay(snapshot) for pod in counted}
    later = [end for end in ends.values() if end > snapshot.now]
    ready = tuple(pod for pod in counted if ends[pod.name] <= snapshot.now)
    return Failures("", counted, new, ready, min(later, default=None))


def uid(pod: ObservedPod) -> str:
    return str(pod.manifest["metadata"].get("uid", ""))


def is_replaceable(snapshot: Snapshot, pod: ObservedPod) -> bool:
    """Tell whether another pod in its place may do better: as its exit code says, or since its node gave it up."""
    types = {name.lower(): name for name in replicas_of(snapshot.job)}
    if pod.role not in types:
        return False
    policy = restart_policy(snapshot.job, types[pod.role])
    if policy is RestartPolicy.NEVER:
        return False
    reason = str((pod.manifest.get("status") or {}).get("reason") or "")
    if reason in LOST or reason.startswith(LACKING):
        return True
    codes = exit_codes(pod, framework_of(snapshot.job).container)
    return policy is RestartPolicy.EXIT_CODE and any(code in RETRYABLE for code in codes)


def _too_often(snapshot: Snapshot, fleet: Fleet[Member], new: tuple[ObservedPod, ...]) -> str:
    """Count pods that were made anew, and containers that their nodes started anew, against backoffLimit."""
    limit = snapshot.job.spec.backoff_limit
    if limit is None:
        return ""
    failed = snapshot.before.restarts + len(new)
    restarted = sum(restarts(pod) for pod in fleet.current.values())
    if failed <= limit and (restarted < limit or restarted == 0):
        return ""
    words = f"; {why_failed(new[0])}" if new else ""
    return f"pods failed {failed + restarted} times, and backoffLimit is {limit}{words}"


def _delay(snapshot: Snapshot) -> timedelta:
    """Wait longer once each pod could have failed: the first failures are nobody's fault."""
    rounds = snapshot.before.restarts // max(len(members_of(snapshot.job)) + 1, 1)
    return min(FIRST_DELAY * (1 << min(rounds - 1, 10)), LONGEST_DELAY) if rounds else timedelta()
