"""Servers that were deleted and cannot go, since their node does not answer: their partitions would stay lost."""

from dataclasses import replace
from datetime import timedelta

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.sampleset.decision import Decision, Piece
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.training.observedpod import observed_pod

# Beyond the pod's own time to end.
PATIENCE = timedelta(seconds=30)


def without_abandoned(snapshot: Snapshot, decision: Decision) -> Decision:
    """Strike off the servers that nobody can stop; another node takes over, and starts with an empty cache."""
    pods = [*(found.pod for found in snapshot.runtimes.values()), *map(observed_pod, snapshot.cleaners)]
    going = [pod for pod in pods if pod.gone_by is not None and pod.node]
    late = [pod for pod in going if pod.gone_by is not None and pod.gone_by + PATIENCE <= snapshot.now]
    struck = tuple((Piece.POD, pod.manifest) for pod in late if _is_silent(snapshot.nodes.get(pod.node)))
    ends = [pod.gone_by + PATIENCE for pod in going if pod.gone_by is not None]
    return replace(decision, strike=struck).looked_at_again(snapshot.now, *ends)


def _is_silent(node: Manifest | None) -> bool:
    conditions = ((node or {}).get("status") or {}).get("conditions") or []
    return not any(found.get("type") == "Ready" and found.get("status") == "True" for found in conditions)
