"""The volume and the claim of a set: made, bound to each other and to nothing else, and made anew when lost."""

from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest, uid_of
from paddle_operator.desired.sampleset.decision import Piece, Pieces, is_going, removed
from paddle_operator.desired.sampleset.snapshot import Snapshot


@dataclass(frozen=True)
class Binding:
    """`bound`: pods can mount the data; else `reason` and `message` say what is waited for."""

    bound: bool = False
    create: Pieces = ()
    delete: Pieces = ()
    reason: str = names.REASON_BINDING
    message: str = ""


def binding_of(snapshot: Snapshot) -> Binding:
    claim, volume = snapshot.claim, snapshot.volume
    if claim is not None and is_going(claim):
        return _claim_going(snapshot, claim)
    if volume is not None and is_going(volume):
        return Binding(message=f"volume {_name(volume)} is being deleted; it is made anew when it is gone")
    if volume is not None and _is_spent(snapshot, volume):
        return Binding(delete=((Piece.VOLUME, volume),), message=f"volume {_name(volume)} is made anew")
    wanted = snapshot.engine.volume(snapshot.sample_set), snapshot.engine.claim(snapshot.sample_set)
    bound = claim is not None and (claim.get("status") or {}).get("phase") == "Bound"
    message = f"claim {_name(wanted[1])} waits to be bound to volume {_name(wanted[0])}"
    return Binding(bound, ((Piece.VOLUME, wanted[0]), (Piece.CLAIM, wanted[1])), message=message)


def _claim_going(snapshot: Snapshot, claim: Manifest) -> Binding:
    """Let go of a claim that somebody deleted, as soon as no job needs it: it stays as long as pods mount it."""
    message = f"claim {_name(claim)} was deleted; it is made anew when it is gone"
    if snapshot.users:
        message += f", after {', '.join(snapshot.users)}"
        return Binding(reason=names.REASON_CLAIM_DELETED, message=message)
    delete = removed(Piece.STATEFUL_SET, snapshot.stateful_set)
    return Binding(delete=delete, reason=names.REASON_CLAIM_DELETED, message=message)


def _is_spent(snapshot: Snapshot, volume: Manifest) -> bool:
    """Tell whether no claim of ours can have it: it was bound to one that is gone, or made for other options."""
    bound_to = ((volume.get("spec") or {}).get("claimRef") or {}).get("uid")
    if bound_to:
        return snapshot.claim is None or bound_to != uid_of(snapshot.claim)
    wanted = snapshot.engine.volume(snapshot.sample_set)["spec"]["csi"]
    present = (volume.get("spec") or {}).get("csi") or {}
    return any(present.get(field) != value for field, value in wanted.items())


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])
