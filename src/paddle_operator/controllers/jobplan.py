"""What was decided for a job of any kind, in the words of the loop."""

from collections.abc import Mapping

from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.api.names import REASON_INVALID
from paddle_operator.control.outcome import Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.controllers.kinds import CACHE_BACKENDS
from paddle_operator.desired.training.decision import Decision, Piece, written
from paddle_operator.desired.training.decision import Status as JobStatus
from paddle_operator.kube.events import Event, EventType
from paddle_operator.kube.request import PODS, Kind

KINDS: Mapping[Piece, Kind] = {
    Piece.CACHE: CACHE_BACKENDS,
    Piece.CONFIG_MAP: Kind("", "v1", "configmaps", "ConfigMap"),
    Piece.SERVICE: Kind("", "v1", "services", "Service"),
    Piece.POD: PODS,
    Piece.POD_GROUP: Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
    Piece.WORKLOAD: Kind("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"),
}


def plan_of(kind: Kind, observed: Manifest, decision: Decision[JobStatus]) -> Plan:
    gone = (Delete.of(kind, observed),) if decision.expired else ()
    status = None if decision.expired else Status(kind, observed, written(decision.status))
    refusal = decision.refusal
    return Plan(
        patch=patches(kind, observed, decision),
        apply=tuple(Apply(KINDS[piece], manifest) for piece, manifest in decision.apply),
        create=tuple(Create(KINDS[piece], manifest) for piece, manifest in decision.create),
        delete=(
            *(Delete.of(KINDS[piece], manifest) for piece, manifest in decision.delete),
            *(Delete.of(KINDS[piece], manifest, grace_seconds=0) for piece, manifest in decision.strike),
            *gone,
        ),
        status=status,
        status_later=any(piece is Piece.POD for piece, _ in decision.create),
        events=tuple(
            Event(observed, notice.reason, notice.message, EventType.WARNING if notice.warning else EventType.NORMAL)
            for notice in decision.notices
        ),
        requeue_after=decision.look_again,
        terminal=None if refusal is None else Terminal(refusal.reason, refusal.message),
    )


def patches(kind: Kind, observed: Manifest, decision: Decision[JobStatus]) -> tuple[Patch, ...]:
    """Write on the job itself, and on the cache that it is about to use."""
    own = (Patch(kind, key_of(observed), decision.change),) if decision.change else ()
    if not decision.claimed:
        return own
    change = {"metadata": {"annotations": decision.claimed["metadata"]["annotations"]}}
    return *own, Patch(CACHE_BACKENDS, key_of(decision.claimed), change)


def hopeless(kind: Kind, observed: Manifest, status: Manifest, why: str) -> Plan:
    """Say of a job that nobody can read where it cannot be read; of its status, what can be read is kept."""
    told = {**status, "observedGeneration": observed["metadata"].get("generation", 0)}
    return Plan(
        status=Status(kind, observed, told), terminal=Terminal(REASON_INVALID, f"the job cannot be read: {why}")
    )
