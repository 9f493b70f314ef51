"""Where a set stands, and why, in words for its user."""

from dataclasses import dataclass, replace

from paddle_operator.api import names
from paddle_operator.api.sampleset import SampleSetPhase
from paddle_operator.desired.sampleset.binding import Binding, binding_of
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.sources import lacking
from paddle_operator.desired.sampleset.syncing import Sync, sync_of
from paddle_operator.desired.sampleset.warming import Warming, warming_of

USABLE = (SampleSetPhase.PARTIAL_READY, SampleSetPhase.READY)


@dataclass(frozen=True)
class State:
    phase: SampleSetPhase
    reason: str
    message: str


@dataclass(frozen=True)
class View:
    """A snapshot, sorted; `lack` is what is wrong with the Secrets."""

    snapshot: Snapshot
    lack: str
    binding: Binding
    sync: Sync
    warming: Warming

    @property
    def started(self) -> int:
        """Count the servers whose pods are ready."""
        return sum(found.ready for found in self.snapshot.wanted)

    @property
    def serving(self) -> int:
        """Count the servers that are ready indeed."""
        return sum(found.serves for found in self.snapshot.wanted)


def view_of(snapshot: Snapshot) -> View:
    sync = sync_of(snapshot)
    lack = lacking(snapshot, sources=not sync.done)
    return View(snapshot, lack, binding_of(snapshot), sync, warming_of(snapshot, synced=sync.done))


def state_of(view: View) -> State:
    """Give the first thing that is not as it should be; a set whose data was there is never less than PartialReady."""
    state = _first_lack(view)
    if view.snapshot.before.phase in USABLE and state.phase not in USABLE:
        return replace(state, phase=SampleSetPhase.PARTIAL_READY)
    return state


def _first_lack(view: View) -> State:
    if not view.binding.bound:
        if view.lack:
            return State(SampleSetPhase.NONE, names.REASON_SECRET_NOT_EXIST, view.lack)
        return State(SampleSetPhase.NONE, view.binding.reason, view.binding.message)
    if view.started == 0:
        return State(SampleSetPhase.BOUND, names.REASON_STARTING, _servers(view))
    if not view.sync.done:
        told = view.sync.condition
        if view.lack:
            return State(view.sync.phase, names.REASON_SECRET_NOT_EXIST, view.lack)
        return State(view.sync.phase, told.reason, told.message)
    return _last_lack(view)


def _last_lack(view: View) -> State:
    if view.started < view.snapshot.partitions:
        return State(SampleSetPhase.PARTIAL_READY, names.REASON_STARTING, _servers(view))
    if silent := [f"{found.name}: {found.trouble}" for found in view.snapshot.wanted if found.trouble]:
        return State(SampleSetPhase.PARTIAL_READY, names.REASON_UNREACHABLE, silent[0])
    if len(view.warming.warm) < view.snapshot.partitions:
        told = view.warming.condition
        return State(SampleSetPhase.PARTIAL_READY, told.reason, told.message)
    if view.lack:
        return State(SampleSetPhase.PARTIAL_READY, names.REASON_SECRET_NOT_EXIST, view.lack)
    return State(SampleSetPhase.READY, names.REASON_READY, f"all {view.snapshot.partitions} partitions are ready")


def _servers(view: View) -> str:
    """Quote the first server of which anybody says why it is not ready."""
    told = ((found.name, found.why_not) for found in view.snapshot.wanted if not found.ready)
    why = next((f"; {name}: {words}" for name, words in told if words), "")
    return f"{view.serving} of {view.snapshot.partitions} runtime servers are ready{why}"
