"""Pods that were deleted and cannot go, since their node does not answer: their names would be taken for ever."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from paddle_operator.desired.training.decision import Decision, Piece, Status, pieces
from paddle_operator.desired.training.observedpod import ObservedPod

# Beyond the pod's own time to end. Whether its node is silent only the cluster knows, after some time of its own.
PATIENCE = timedelta(seconds=30)
PAUSE = timedelta(seconds=60)


class Snapshot(Protocol):
    """What was observed of a job of any kind; `silent_nodes` do not answer."""

    @property
    def now(self) -> datetime: ...

    @property
    def pods(self) -> tuple[ObservedPod, ...]: ...

    @property
    def leftovers(self) -> tuple[ObservedPod, ...]: ...

    @property
    def silent_nodes(self) -> frozenset[str]: ...


def overdue(pods: Iterable[ObservedPod], now: datetime) -> tuple[ObservedPod, ...]:
    return tuple(pod for pod in pods if pod.node and pod.gone_by is not None and pod.gone_by + PATIENCE <= now)


def without_abandoned(snapshot: Snapshot, decision: Decision[Status]) -> Decision[Status]:
    """Strike off the pods that nobody can stop, and look again at those with some time left or with a node that lives.

    A node that is cut off may run such a pod on, beside the one that takes its place. A job that waits for ever for a
    machine that burnt down would be worse, and is what its user would delete by hand.
    """
    pods = (*snapshot.pods, *snapshot.leftovers)
    late = overdue(pods, snapshot.now)
    struck = [pod for pod in late if pod.node in snapshot.silent_nodes]
    ends = [pod.gone_by + PATIENCE for pod in pods if pod.node and pod.gone_by is not None]
    again = snapshot.now + PAUSE if len(late) > len(struck) else None
    decision = replace(decision, strike=pieces(Piece.POD, (pod.manifest for pod in struck)))
    return decision.looked_at_again(snapshot.now, again, *ends)
