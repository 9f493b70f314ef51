"""The controller of PaddleJobs: it observes, asks for a plan, and has it carried out."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from paddle_operator.api import names
from paddle_operator.api.definition import Kind as Definition
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.control.store import by_owner
from paddle_operator.controllers.access import MAKE, READ, Access
from paddle_operator.desired.paddlejob.decision import GANGS, Decision, Piece
from paddle_operator.desired.paddlejob.hostport import recorded_port
from paddle_operator.desired.paddlejob.observedpod import observed_pod
from paddle_operator.desired.paddlejob.plan import plan
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.desired.paddlejob.status import written
from paddle_operator.kube.events import EVENTS, Event, EventType
from paddle_operator.kube.request import PODS, Kind

NAME = "paddlejob"
OWNER = "owner"
# Each waits for the API server most of the time, and jobs come in hundreds.
WORKERS = 16


def kind_of(struct: type[Definition]) -> Kind:
    definition = struct.definition
    return Kind(definition.group, definition.version, definition.plural, definition.kind)


PADDLE_JOBS = kind_of(PaddleJob)
SAMPLE_SETS = kind_of(SampleSet)
KINDS = {
    Piece.CONFIG_MAP: Kind("", "v1", "configmaps", "ConfigMap"),
    Piece.SERVICE: Kind("", "v1", "services", "Service"),
    Piece.POD: PODS,
    Piece.POD_GROUP: Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
    Piece.WORKLOAD: Kind("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"),
}
# The original operator's pods have this label too, so those of a job that it began are found.
SELECTORS = {Piece.POD: names.LABEL_RESOURCE_TYPE}
ACCESS = (
    Access(PADDLE_JOBS, (*READ, "patch", "delete")),
    Access(PADDLE_JOBS, ("patch",), "status"),
    Access(PADDLE_JOBS, ("update",), "finalizers"),
    Access(SAMPLE_SETS, READ),
    Access(EVENTS, ("create", "patch")),
    *(Access(kind, MAKE) for kind in KINDS.values()),
)


class Readers:
    """Which jobs want which SampleSet: known from the time that each job is first looked at."""

    def __init__(self) -> None:
        self._jobs: defaultdict[Key, set[Key]] = defaultdict(set)

    def add(self, sample_set: Key, job: Key) -> None:
        self._jobs[sample_set].add(job)

    def forget(self, job: Key) -> None:
        for sample_set in [found for found, jobs in self._jobs.items() if job in jobs]:
            self._jobs[sample_set].discard(job)
            if not self._jobs[sample_set]:
                del self._jobs[sample_set]

    def of(self, sample_set: Manifest) -> Iterable[Key]:
        return tuple(self._jobs.get(key_of(sample_set), ()))


def controller(settings: Settings) -> Controller:
    """Give the controller; a gang's kind is watched only where it is asked for, since few clusters know it."""
    readers = Readers()
    gang = GANGS.get(settings.scheduling)
    watched = [Piece.POD, Piece.SERVICE, Piece.CONFIG_MAP, *([gang] if gang else [])]

    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[PADDLE_JOBS].get(key)
        if observed is None:
            readers.forget(key)
            return Done()
        observed = {**observed, **PADDLE_JOBS.identity}
        try:
            job = decode(observed)
        except msgspec.ValidationError as error:
            return await world.execute(hopeless(observed, str(error)))
        snapshot = observe(world, job, settings, readers)
        return await world.execute(plan_of(observed, plan(snapshot)))

    triggers = (
        Trigger(PADDLE_JOBS),
        Trigger(SAMPLE_SETS, readers.of, settle=SETTLE),
        *(_trigger(piece) for piece in watched),
    )
    return Controller(NAME, triggers, reconcile, WORKERS)


def _trigger(piece: Piece) -> Trigger:
    labels = SELECTORS.get(piece, names.LABEL_PADDLEJOB)
    return Trigger(KINDS[piece], key_of_owner(PADDLE_JOBS), labels, SETTLE, {OWNER: by_owner})


def decode(observed: Manifest) -> PaddleJob:
    """Read the job; a status that nobody can read counts as none."""
    try:
        return msgspec.convert(observed, PaddleJob)
    except msgspec.ValidationError:
        return msgspec.convert({**observed, "status": None}, PaddleJob)


def observe(world: World, job: PaddleJob, settings: Settings, readers: Readers) -> Snapshot:
    def of(piece: Piece | None) -> tuple[Manifest, ...]:
        store = world.stores.get(KINDS[piece]) if piece else None
        return tuple(store.find(OWNER, job.metadata.uid)) if store else ()

    return Snapshot(
        job=job,
        now=world.now().replace(microsecond=0),
        settings=settings,
        pods=tuple(observed_pod(manifest) for manifest in of(Piece.POD)),
        services=of(Piece.SERVICE),
        config_maps=of(Piece.CONFIG_MAP),
        gangs=of(GANGS.get(settings.scheduling)),
        sample_set=observe_sample_set(world, job, readers),
        taken_ports=frozenset(observe_ports(world, job)) if job.spec.intranet is Intranet.HOST else frozenset(),
    )


def observe_sample_set(world: World, job: PaddleJob, readers: Readers) -> SampleSet | None:
    if job.spec.sample_set_ref is None:
        return None
    wanted = Key(job.metadata.namespace, job.spec.sample_set_ref.name)
    readers.add(wanted, Key(job.metadata.namespace, job.metadata.name))
    found = world.stores[SAMPLE_SETS].get(wanted)
    if found is None:
        return None
    try:
        return msgspec.convert({**found, **SAMPLE_SETS.identity}, SampleSet)
    except msgspec.ValidationError:
        return None  # its own controller says what is wrong with it


def observe_ports(world: World, job: PaddleJob) -> Iterable[int]:
    """Give the host ports of all other jobs that have not ended."""
    for manifest in world.stores[PADDLE_JOBS]:
        annotations = manifest["metadata"].get("annotations") or {}
        port = recorded_port(annotations)
        ended = (manifest.get("status") or {}).get("phase") in ENDED
        if port is not None and not ended and uid_of(manifest) != job.metadata.uid:
            yield port


def plan_of(observed: Manifest, decision: Decision) -> Plan:
    """Say the same in the words of the loop."""
    gone = (Delete.of(PADDLE_JOBS, observed),) if decision.expired else ()
    status = None if decision.expired else Status(PADDLE_JOBS, observed, written(decision.status))
    refusal = decision.refusal
    return Plan(
        patch=(Patch(PADDLE_JOBS, key_of(observed), decision.change),) if decision.change else (),
        apply=tuple(Apply(KINDS[piece], manifest) for piece, manifest in decision.apply),
        create=tuple(Create(KINDS[piece], manifest) for piece, manifest in decision.create),
        delete=(*(Delete.of(KINDS[piece], manifest) for piece, manifest in decision.delete), *gone),
        status=status,
        events=tuple(
            Event(observed, notice.reason, notice.message, EventType.WARNING if notice.warning else EventType.NORMAL)
            for notice in decision.notices
        ),
        requeue_after=decision.look_again,
        terminal=None if refusal is None else Terminal(refusal.reason, refusal.message),
    )


def hopeless(observed: Manifest, why: str) -> Plan:
    """Say of a job that nobody can read where it cannot be read."""
    status = {**(observed.get("status") or {}), "observedGeneration": observed["metadata"].get("generation", 0)}
    terminal = Terminal(names.REASON_INVALID, f"the job cannot be read: {why}")
    return Plan(status=Status(PADDLE_JOBS, observed, status), terminal=terminal)
