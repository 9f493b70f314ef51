"""From what was observed of a job to what is to be written: the one door to this package."""

from dataclasses import replace

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.paddlejob import Intranet, PaddleJobPhase
from paddle_operator.desired.paddlejob.decision import Decision, gangs, withdrawn
from paddle_operator.desired.paddlejob.lifecycle import Verdict, deadline_of, expiry_of, is_cleaned, verdict_on
from paddle_operator.desired.paddlejob.notices import notices
from paddle_operator.desired.paddlejob.progress import go_on, refused
from paddle_operator.desired.paddlejob.refusal import refusal_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import ENDED, State
from paddle_operator.desired.paddlejob.status import status_of, status_of_ended
from paddle_operator.desired.paddlejob.view import View, view_of
from paddle_operator.desired.training.abandoned import without_abandoned
from paddle_operator.desired.training.decision import Pieces, stopped
from paddle_operator.desired.training.fleet import Edition


def plan(snapshot: Snapshot) -> Decision:
    decision = without_abandoned(snapshot, _decide(snapshot))
    return replace(decision, notices=notices(snapshot, decision.status))


def _decide(snapshot: Snapshot) -> Decision:
    if snapshot.job.metadata.deletion_timestamp is not None:
        return _leave(snapshot)
    # That a job has ended cannot be seen once its pods are gone: the phase in its status remembers it.
    if snapshot.before.phase in ENDED:
        return _clean_up(snapshot)
    return _proceed(view_of(snapshot)).looked_at_again(snapshot.now, deadline_of(snapshot))


def _proceed(view: View) -> Decision:
    if (verdict := verdict_on(view.snapshot, view.fleet, view.edition)) is not None:
        return _record(view, verdict)
    if view.snapshot.job.spec.suspend:
        return _suspend(view)
    if (refusal := refusal_of(view.snapshot)) is not None:
        return refused(view, refusal)
    if view.fleet.outdated:
        return _make_room(view)
    return go_on(view)


def _leave(snapshot: Snapshot) -> Decision:
    """Let go of a job that is being deleted; what was made for it goes by itself, since the job owns it."""
    state = State(PaddleJobPhase.TERMINATING, names.REASON_TERMINATING, "the job is being deleted")
    finalizers = snapshot.job.metadata.finalizers
    kept = [name for name in finalizers if name != names.FINALIZER_PADDLEJOB]
    change = {"metadata": {"finalizers": kept}} if len(kept) < len(finalizers) else {}
    return Decision(status_of(snapshot, state, Edition(snapshot.before.revision, snapshot.before.restarts)), change)


def _clean_up(snapshot: Snapshot) -> Decision:
    """Stop what still runs, parameter servers above all, and delete what has ended if the policy says so."""
    cleaned = is_cleaned(snapshot)
    pods = [found for found in snapshot.pods if cleaned or not found.bucket.is_over]
    delete = (*stopped(pods), *gangs(snapshot), *(withdrawn(snapshot) if cleaned else ()))
    expiry = expiry_of(snapshot)
    expired = expiry is not None and expiry <= snapshot.now
    return Decision(status_of_ended(snapshot), delete=delete, expired=expired).looked_at_again(snapshot.now, expiry)


def _record(view: View, verdict: Verdict) -> Decision:
    """Write down what has become clear, and nothing else: acting on it destroys what it was seen by."""
    status = view.status(verdict.state)
    if verdict.state.phase is PaddleJobPhase.RESTARTING and verdict.due is None:
        status = view.status(verdict.state, view.edition.next)
    return Decision(status).looked_at_again(view.snapshot.now, verdict.due)


def _suspend(view: View) -> Decision:
    snapshot = view.snapshot
    state = State(PaddleJobPhase.SUSPENDED, names.REASON_SUSPENDED, "spec.suspend is true: no pods until it is false")
    delete = (*stopped(snapshot.pods), *gangs(snapshot), *_outlived_numbers(snapshot))
    return Decision(status_of(snapshot, state, view.edition), delete=delete)


def _make_room(view: View) -> Decision:
    """Delete pods of another edition; new ones come when the last is gone, as old and new must not meet."""
    snapshot, fleet = view.snapshot, view.fleet
    known = find(snapshot.before.conditions, names.CONDITION_RUNNING)
    if known is not None and snapshot.before.phase == PaddleJobPhase.RESTARTING:
        message = known.message  # the pod that it speaks of may be gone
    else:
        message = "the spec has changed: all pods start anew"
    state = State(PaddleJobPhase.RESTARTING, names.REASON_RESTARTING, message)
    delete = (*stopped((*fleet.outdated, *fleet.surplus, *fleet.current.values())), *_outlived_numbers(snapshot))
    return Decision(view.status(state), delete=delete)


def _outlived_numbers(snapshot: Snapshot) -> Pieces:
    return withdrawn(snapshot) if snapshot.job.spec.intranet is Intranet.POD_IP else ()
