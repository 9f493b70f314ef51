"""The end of a set: after the jobs that use it, and with all that was made for it; the data itself is left alone."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.sampleset import SampleSetPhase, SampleSetStatus
from paddle_operator.desired.sampleset.clearing import farewell
from paddle_operator.desired.sampleset.decision import Decision, Piece, removed
from paddle_operator.desired.sampleset.leftovers import Leftovers, left_nodes, leftovers_of
from paddle_operator.desired.sampleset.nodelabels import Change, labels_left
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.state import State
from paddle_operator.desired.sampleset.status import status_of_ending

# To empty the caches: for their servers, and then for pods on nodes whose servers could not or are gone.
LONGEST_FAREWELL = timedelta(seconds=60)
LONGEST_CLEANING = timedelta(seconds=120)
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
    since = _unused_since(snapshot)
    farewells = [farewell(snapshot, found, since + LONGEST_FAREWELL) for found in snapshot.runtimes.values()]
    if not all(found.may_go for found in farewells):
        errands = tuple(errand for found in farewells for errand in found.errands)
        status = _status(snapshot, "the caches are emptied")
        return Decision(status, labels=labels, errands=errands, look_again=PAUSE_SECONDS)
    leftovers = leftovers_of(snapshot, since + LONGEST_CLEANING)
    return leftovers.added_to(_let_go(snapshot, labels, leftovers), snapshot.now)


def _let_go(snapshot: Snapshot, labels: tuple[Change, ...], leftovers: Leftovers) -> Decision:
    """Delete what is there; the set goes last, and what it leaves on nodes is told before."""
    parts = (
        (Piece.STATEFUL_SET, snapshot.stateful_set),
        (Piece.CLAIM, snapshot.claim),
        (Piece.VOLUME, snapshot.volume),
        *((Piece(kind), manifest) for kind, manifest in snapshot.originals.items()),
    )
    left = [f"{piece} {found['metadata']['name']}" for piece, found in parts if found is not None]
    delete = tuple(found for piece, manifest in parts for found in removed(piece, manifest))
    if not (left or labels or leftovers.open or snapshot.cleaners):
        return _last_words(snapshot, leftovers.nodes)
    told = (
        f"the caches on {_named(leftovers.open)} are emptied" if leftovers.open else "",
        f"waits for the end of {', '.join(left)}{_why_kept(snapshot)}" if left else "",
    )
    message = "; ".join(filter(None, told)) or "the labels of nodes are removed"
    # Nobody tells us when those that the original operator made are gone.
    again = PAUSE_SECONDS if snapshot.originals or leftovers.open else None
    return Decision(_status(snapshot, message), labels=labels, delete=delete, look_again=again)


def _last_words(snapshot: Snapshot, lost: Sequence[str]) -> Decision:
    """Let the set go; if blocks of it stay anywhere, say so first."""
    metadata = snapshot.sample_set.metadata
    own, said = names.sampleset_finalizer(metadata.name), find(snapshot.before.conditions, names.CONDITION_READY)
    if not lost or (said is not None and said.reason == names.REASON_CACHES_LEFT):
        return Decision(None, finalizers=tuple(name for name in metadata.finalizers if name != own))
    message = f"the caches on {_named(lost)} could not be emptied: remove {_directories(snapshot)} there"
    return Decision(_status(snapshot, message, names.REASON_CACHES_LEFT), look_again=PAUSE_SECONDS)


def _directories(snapshot: Snapshot) -> str:
    return ", ".join(snapshot.engine.cache_directories(snapshot.sample_set))


def _named(words: Sequence[str]) -> str:
    return ", ".join(words[:MOST_NAMED]) + (" …" if len(words) > MOST_NAMED else "")


def _why_kept(snapshot: Snapshot) -> str:
    """Say which pods Kubernetes keeps the claim for: it does so as long as they are there, ended or not."""
    if snapshot.claim is None or not snapshot.remains:
        return ""
    return f", which is kept for {_named(snapshot.remains)}: delete these, or their jobs"


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
    status = msgspec.structs.replace(status_of_ending(snapshot, state, [in_use]), left_nodes=left_nodes(snapshot))
    return Decision(status, look_again=PAUSE_SECONDS)


def _status(snapshot: Snapshot, message: str, reason: str = names.REASON_TERMINATING) -> SampleSetStatus:
    """Say what is waited for; where its servers were is said of nodes to be emptied from now on."""
    state = State(SampleSetPhase.NONE, reason, f"it is being deleted: {message}")
    unused = condition(names.CONDITION_IN_USE, names.REASON_UNUSED, "no job uses it", holds=False)
    status = status_of_ending(snapshot, state, [unused])
    return msgspec.structs.replace(status, nodes=(), left_nodes=left_nodes(snapshot))
