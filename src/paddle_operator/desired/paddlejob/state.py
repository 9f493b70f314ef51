"""Where a job stands, and why, in words for its user."""

from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.paddlejob import PaddleJobPhase
from paddle_operator.desired.paddlejob.edition import Fleet
from paddle_operator.desired.paddlejob.roles import is_elastic
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.training.observedpod import Bucket, ObservedPod, why_not_running

ENDED = (PaddleJobPhase.COMPLETED, PaddleJobPhase.FAILED)


@dataclass(frozen=True)
class State:
    phase: PaddleJobPhase
    reason: str
    message: str

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED


def state_of(snapshot: Snapshot, fleet: Fleet) -> State:
    """Say where a job stands that goes on, from its pods as they are now."""
    waiting = fleet.of(Bucket.PENDING)
    starting = fleet.of(Bucket.STARTING, Bucket.UNKNOWN)
    leaving = (*_being_replaced(snapshot, fleet), *fleet.blocked)
    absent = len(fleet.missing) + len(leaving)
    gone = len(fleet.done - fleet.current.keys())
    number = len(fleet.current) + absent + gone
    if waiting or absent:
        message = f"{len(waiting) + absent} of {number} pods do not run yet{_why((*waiting, *leaving))}"
        return _delayed(snapshot, State(PaddleJobPhase.PENDING, names.REASON_PODS_PENDING, message))
    if starting:
        message = f"{len(starting)} of {number} pods are starting{_why(starting)}"
        return _delayed(snapshot, State(PaddleJobPhase.STARTING, names.REASON_PODS_STARTING, message))
    over = len(fleet.of(Bucket.SUCCEEDED, Bucket.FAILED)) + gone
    message = f"{number - over} of {number} pods run" + (f", {over} have ended" if over else "")
    return State(PaddleJobPhase.RUNNING, names.REASON_PODS_RUNNING, message)


def _being_replaced(snapshot: Snapshot, fleet: Fleet) -> tuple[ObservedPod, ...]:
    """Give the wanted pods that somebody deleted and that are not gone yet."""
    known = {*fleet.current, *fleet.done, *(pod.name for pod in (*fleet.outdated, *fleet.surplus))}
    return tuple(pod for pod in snapshot.pods if pod.name not in known)


def _delayed(snapshot: Snapshot, state: State) -> State:
    """Say of an elastic job that has run before that it is scaling: it trains on meanwhile."""
    if not is_elastic(snapshot.job.spec) or snapshot.before.start_time is None:
        return state
    return State(PaddleJobPhase.SCALING, names.REASON_SCALED, state.message)


def _why(pods: tuple[ObservedPod, ...]) -> str:
    """Quote the first pod of which anybody says why."""
    told = ((pod.name, why_not_running(pod)) for pod in pods)
    return next((f"; {name}: {words}" for name, words in told if words), "")
