"""From what was observed of a SampleSet to what is to be written: the one door to this package."""

from dataclasses import replace

from paddle_operator.api import names
from paddle_operator.api.sampleset import SampleSetPhase
from paddle_operator.desired.sampleset import servers
from paddle_operator.desired.sampleset.abandoned import without_abandoned
from paddle_operator.desired.sampleset.clearing import farewell
from paddle_operator.desired.sampleset.decision import Decision, Piece
from paddle_operator.desired.sampleset.ending import end
from paddle_operator.desired.sampleset.leftovers import leftovers_of
from paddle_operator.desired.sampleset.nodelabels import label_changes
from paddle_operator.desired.sampleset.notices import notices
from paddle_operator.desired.sampleset.refusal import refusal_of
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.state import State, View, state_of, view_of
from paddle_operator.desired.sampleset.status import status_of
from paddle_operator.desired.telling import Refusal

# Secrets are not watched, so that nobody needs leave to list them: this is how late a change of one is noticed.
SECRET_PAUSE_SECONDS = 60.0
LACK_PAUSE_SECONDS = 5.0
AT_ONCE_SECONDS = 0.15


def plan(snapshot: Snapshot) -> Decision:
    decision = without_abandoned(snapshot, _decide(snapshot))
    return replace(decision, notices=notices(snapshot, decision.status))


def _decide(snapshot: Snapshot) -> Decision:
    if snapshot.ends:
        return end(snapshot)
    view = view_of(snapshot)
    if (refusal := refusal_of(snapshot)) is not None:
        return _refused(view, refusal)
    return _go_on(view)


def _refused(view: View, refusal: Refusal) -> Decision:
    """Make nothing; what is there, since before the set was edited, goes on."""
    before = view.snapshot.before.phase
    phase = SampleSetPhase(before) if before in list(SampleSetPhase) else SampleSetPhase.NONE
    return Decision(status_of(view, State(phase, refusal.reason, refusal.message)), refusal=refusal)


def _go_on(view: View) -> Decision:
    """Make what is missing, in the order in which it is needed."""
    snapshot = view.snapshot
    pause = LACK_PAUSE_SECONDS if view.lack else SECRET_PAUSE_SECONDS
    decision = Decision(status_of(view, state_of(view)), finalizers=_finalizers(snapshot), look_again=pause)
    if view.lack and snapshot.volume is None:
        return decision
    decision = replace(decision, create=view.binding.create, delete=view.binding.delete)
    if view.binding.bound:
        decision = _with_servers(view, decision)
    return leftovers_of(snapshot).added_to(replace(decision, labels=label_changes(snapshot)), snapshot.now)


def _finalizers(snapshot: Snapshot) -> tuple[str, ...] | None:
    """Hold the set until its volume is gone and its labels are removed: these do not go by themselves."""
    own, present = names.sampleset_finalizer(snapshot.sample_set.metadata.name), snapshot.sample_set.metadata.finalizers
    return None if own in present else (*present, own)


def _with_servers(view: View, decision: Decision) -> Decision:
    snapshot = view.snapshot
    if not snapshot.has_token:
        create = (*decision.create, (Piece.TOKEN, servers.token_secret(snapshot)))
        return replace(decision, create=create, look_again=AT_ONCE_SECONDS)
    farewells = {found.partition: farewell(snapshot, found) for found in snapshot.surplus}
    held = [number + 1 for number, found in farewells.items() if not found.may_go]
    wanted = (
        (Piece.SERVICE, servers.service(snapshot.sample_set)),
        (Piece.STATEFUL_SET, servers.stateful_set(snapshot, max([snapshot.partitions, *held]))),
    )
    # Without its keys no source can be copied; who adds them is noticed.
    tries = (*(() if view.lack else view.sync.tries), *view.warming.tries.values())
    orders = (found.errand for found in tries if found.errand is not None)
    last_orders = (errand for found in farewells.values() for errand in found.errands)
    decision = replace(decision, apply=wanted, errands=(*orders, *last_orders))
    asked = (found.asked_again(snapshot.now) for found in snapshot.wanted)
    return decision.looked_at_again(snapshot.now, *(found.due for found in tries), *asked)
