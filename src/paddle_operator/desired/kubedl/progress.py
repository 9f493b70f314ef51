"""A job on its way: its data, its gang, its services, and the pods that it lacks."""

from dataclasses import dataclass, replace

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.training import TrainingJobStatus
from paddle_operator.desired.kubedl.failures import Failures, uid
from paddle_operator.desired.kubedl.frameworks import Member, framework_of, members_of
from paddle_operator.desired.kubedl.gang import gang, is_held, scheduling_of, why_impossible
from paddle_operator.desired.kubedl.network import services
from paddle_operator.desired.kubedl.pods import pod
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.kubedl.state import ACTIVE, Phase, State, state_of
from paddle_operator.desired.kubedl.status import status_of
from paddle_operator.desired.telling import Refusal
from paddle_operator.desired.training.decision import GANGS, Decision, Piece, pieces, stopped
from paddle_operator.desired.training.fleet import Edition, Fleet
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.desired.training.supply import cache_object, claim, deadline, failure, lack

GANG_PAUSE_SECONDS = 15.0


@dataclass(frozen=True)
class View:
    """A snapshot sorted: which pods are current, and which failed."""

    snapshot: Snapshot
    edition: Edition
    fleet: Fleet[Member]
    failures: Failures

    def status(self, state: State | None = None) -> TrainingJobStatus:
        stands = state or state_of(self.snapshot, self.fleet, self.failures)
        found = status_of(self.snapshot, stands, self.edition, self.fleet.done)
        return msgspec.structs.replace(found, restarting=tuple(sorted(uid(pod) for pod in self.failures.counted)))


def go_on(view: View) -> Decision[TrainingJobStatus]:
    """Make what is missing, in the order in which it is needed; pods that are there need neither data nor queue."""
    supply = view.snapshot.supply
    decision = _next(view)
    made = cache_object(supply)
    create = decision.create if made is None else ((Piece.CACHE, made), *decision.create)
    return replace(decision, create=create, claimed=claim(supply))


def refused(view: View, refusal: Refusal) -> Decision[TrainingJobStatus]:
    """Make nothing; pods that are there, since before the job was edited, go on and are told of."""
    state = None if view.snapshot.pods else State(Phase.CREATED, refusal.message)
    return Decision(view.status(state), refusal=refusal)


def _next(view: View) -> Decision[TrainingJobStatus]:
    snapshot = view.snapshot
    supply = snapshot.supply
    if (missing := lack(supply)) is not None and not view.fleet.current:
        given_up = failure(supply)
        phase, words = (Phase.FAILED, given_up.message) if given_up is not None else (Phase.CREATED, missing.message)
        told = f"{snapshot.job.definition.kind} {snapshot.job.metadata.name}"
        words = f"{told} has failed: {words}" if given_up is not None else f"{told} waits: {words}"
        return Decision(view.status(State(phase, words))).looked_at_again(snapshot.now, deadline(supply))
    decision = Decision(view.status())
    if why := why_impossible(snapshot):
        waits = view.status(State(Phase.CREATED, why)) if not view.fleet.current else decision.status
        return replace(decision, status=waits, look_again=GANG_PAUSE_SECONDS)
    decision = _with_gang(view, decision)
    if is_held(snapshot) and not view.fleet.current:
        state = State(Phase.QUEUING, "the PodGroup waits to be let into its queue")
        return replace(decision, status=view.status(state))
    return _with_pods(view, _with_services(view, decision))


def _with_gang(view: View, decision: Decision[TrainingJobStatus]) -> Decision[TrainingJobStatus]:
    wanted, scheduling = gang(view.snapshot), scheduling_of(view.snapshot)
    if wanted is None:
        return decision
    found = pieces(GANGS[scheduling], [wanted])
    if scheduling is Scheduling.VOLCANO:
        return replace(decision, apply=found)
    # A Workload cannot change: one that does not fit any more gives way to another.
    outlived = [old for old in view.snapshot.gangs if old["spec"]["podGroups"] != wanted["spec"]["podGroups"]]
    return replace(decision, create=found, delete=pieces(Piece.WORKLOAD, outlived))


def _with_services(view: View, decision: Decision[TrainingJobStatus]) -> Decision[TrainingJobStatus]:
    """Have names before pods: who looks for another at once does not always look twice."""
    wanted = services(view.snapshot.job)
    named = {_name(service) for service in wanted}
    surplus = [service for service in view.snapshot.services if _name(service) not in named]
    return replace(
        decision,
        apply=(*decision.apply, *pieces(Piece.SERVICE, wanted)),
        delete=(*decision.delete, *pieces(Piece.SERVICE, surplus)),
    )


def _with_pods(view: View, decision: Decision[TrainingJobStatus]) -> Decision[TrainingJobStatus]:
    # What is to go before them, a Workload of another size, must be gone.
    missing = [] if decision.delete else [member for member in view.fleet.missing if _may_start(view, member)]
    made = [pod(view.snapshot, member, view.edition) for member in missing]
    return replace(
        decision,
        create=(*decision.create, *pieces(Piece.POD, made)),
        delete=(*decision.delete, *stopped((*view.fleet.surplus, *view.failures.ready))),
    ).looked_at_again(view.snapshot.now, view.failures.due)


def _may_start(view: View, member: Member) -> bool:
    """Tell whether those that it waits for run, or have; a gang starts together or not at all."""
    job = view.snapshot.job
    awaited = framework_of(job).after.get(member.type, ())
    if not awaited or scheduling_of(view.snapshot) is not Scheduling.NONE:
        return True
    started = {pod.name for pod in view.fleet.of(*ACTIVE)} | view.fleet.done
    return all(other.name in started for other in members_of(job, *awaited))


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])
