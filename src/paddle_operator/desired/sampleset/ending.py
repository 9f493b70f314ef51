"""The end of a set: after the jobs that use it, and with all that was made for it; the data itself is left alone."""

from datetime import datetime, timedelta

from paddle_operator.api import names
from paddle_operator.api.conditions import condition
from paddle_operator.api.sampleset import SampleSetPhase, SampleSetStatus
from paddle_operator.desired.sampleset.clearing import farewell
from paddle_operator.desired.sampleset.decision import Decision, Piece, removed
from paddle_operator.desired.sampleset.nodelabels import labels_left
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.state import State
from paddle_operator.desired.sampleset.status import status_of_ending

# To empty the caches; who cannot be reached by then keeps what it has.
LONGEST_FAREWELL = timedelta(seconds=60)
PAUSE_SECONDS = 5.0
MOST_NAMED = 5


def end(snapshot: Snapshot) -> Decision:
    metadata = snapshot.sample_set.metadata
    own = names.sampleset_finalizer(metadata.name)
    if own not in metadata.finalizers:
        return Decision(None)
    if snapshot.users:
        return _wait(snapshot)
    labels = labels_left(snapshot)
    until = _unused_since(snapshot) + LONGEST_FAREWELL
    farewells = [farewell(snapshot, found, until) for found in snapshot.runtimes.values()]
    if not all(found.may_go for found in farewells):
        errands = tuple(errand for found in farewells for errand in found.errands)
        status = _status(snapshot, "the caches are emptied")
        return Decision(status, labels=labels, errands=errands, look_again=PAUSE_SECONDS)
    parts = (
        (Piece.STATEFUL_SET, snapshot.stateful_set),
        (Piece.CLAIM, snapshot.claim),
        (Piece.VOLUME, snapshot.volume),
        *((Piece(kind), manifest) for kind, manifest in snapshot.originals.items()),
    )
    left = [f"{piece} {found['metadata']['name']}" for piece, found in parts if found is not None]
    if not left and not labels:
        return Decision(None, finalizers=tuple(name for name in metadata.finalizers if name != own))
    delete = tuple(found for piece, manifest in parts for found in removed(piece, manifest))
    message = (
        f"waits for the end of {', '.join(left)}{_why_kept(snapshot)}" if left else "the labels of nodes are removed"
    )
    # Nobody tells us when those that the original operator made are gone.
    again = PAUSE_SECONDS if snapshot.originals else None
    return Decision(_status(snapshot, message), labels=labels, delete=delete, look_again=again)


def _why_kept(snapshot: Snapshot) -> str:
    """Say which pods Kubernetes keeps the claim for: it does so as long as they are there, ended or not."""
    if snapshot.claim is None or not snapshot.remains:
        return ""
    more = " …" if len(snapshot.remains) > MOST_NAMED else ""
    return f", which is kept for {', '.join(snapshot.remains[:MOST_NAMED])}{more}: delete these, or their jobs"


def _unused_since(snapshot: Snapshot) -> datetime:
    """Give the time at which nobody used it any more; the status remembers it, since nothing else does."""
    for found in snapshot.before.conditions:
        if found.type == names.CONDITION_IN_USE and found.status == "False":
            return found.last_transition_time or snapshot.now
    return snapshot.now


def _wait(snapshot: Snapshot) -> Decision:
    message = f"it is being deleted, and waits for {', '.join(snapshot.users)} to end"
    state = State(SampleSetPhase.NONE, names.REASON_IN_USE, message)
    in_use = condition(names.CONDITION_IN_USE, names.REASON_IN_USE, message, holds=True)
    # Nobody tells us when pods of others end.
    return Decision(status_of_ending(snapshot, state, [in_use]), look_again=PAUSE_SECONDS)


def _status(snapshot: Snapshot, message: str) -> SampleSetStatus:
    state = State(SampleSetPhase.NONE, names.REASON_TERMINATING, f"it is being deleted: {message}")
    unused = condition(names.CONDITION_IN_USE, names.REASON_UNUSED, "no job uses it", holds=False)
    return status_of_ending(snapshot, state, [unused])
