"""The controller of PaddleJobs: it observes, asks for a plan, and has it carried out."""

from dataclasses import replace

import msgspec

from paddle_operator.api import names
from paddle_operator.api.definition import Kind as Definition
from paddle_operator.api.manifest import Key, Manifest, annotations_of, key_of, uid_of
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.control.store import by_owner
from paddle_operator.controllers.access import MAKE, READ, Access
from paddle_operator.controllers.memory import Memory
from paddle_operator.desired.paddlejob.abandoned import overdue
from paddle_operator.desired.paddlejob.decision import GANGS, Decision, Piece
from paddle_operator.desired.paddlejob.hostport import host_port, lacks_record, recorded_port
from paddle_operator.desired.paddlejob.observedpod import observed_pod
from paddle_operator.desired.paddlejob.plan import plan
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.desired.paddlejob.status import written
from paddle_operator.kube import errors
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
NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
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
    Access(NODES, ("get",)),
    *(Access(kind, MAKE) for kind in KINDS.values()),
)


def controller(settings: Settings) -> Controller:
    """Give the controller; a gang's kind is watched only where it is asked for, since few clusters know it."""
    memory = Memory()
    gang = GANGS.get(settings.scheduling)
    watched = [Piece.POD, Piece.SERVICE, Piece.CONFIG_MAP, *([gang] if gang else [])]

    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[PADDLE_JOBS].get(key)
        if observed is None:
            memory.forget(key)
            return Done()
        observed = {**observed, **PADDLE_JOBS.identity}
        try:
            job = decode(observed)
        except msgspec.ValidationError as error:
            return await world.execute(hopeless(observed, str(error)))
        silent = await observe_silent_nodes(world, job)
        # From here on nobody else is looked at before the port is promised, so no two jobs choose the same.
        snapshot = replace(observe(world, job, settings, memory), silent_nodes=silent)
        memory.promise(key, host_port(snapshot) if lacks_record(job) else None)
        return await world.execute(plan_of(observed, plan(snapshot)))

    triggers = (
        Trigger(PADDLE_JOBS),
        Trigger(SAMPLE_SETS, memory.readers, settle=SETTLE),
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


def observe(world: World, job: PaddleJob, settings: Settings, memory: Memory) -> Snapshot:
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
        sample_set=observe_sample_set(world, job, memory),
        taken_ports=observe_ports(world, job, memory) if job.spec.intranet is Intranet.HOST else frozenset(),
    )


async def observe_silent_nodes(world: World, job: PaddleJob) -> frozenset[str]:
    """Name the nodes that do not answer, of those with pods that should long be gone; there are hardly ever any."""
    pods = map(observed_pod, world.stores[PODS].find(OWNER, job.metadata.uid))
    asked = {pod.node for pod in overdue(pods, world.now())}
    return frozenset([node for node in asked if await is_silent(world, node)])


async def is_silent(world: World, node: str) -> bool:
    try:
        found = await world.client.get(NODES, Key("", node))
    except errors.NotFoundError:
        return True
    except errors.ForbiddenError:
        return False  # who may look at one namespace only is not told
    conditions = (found.get("status") or {}).get("conditions") or []
    return not any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def observe_sample_set(world: World, job: PaddleJob, memory: Memory) -> SampleSet | None:
    if job.spec.sample_set_ref is None:
        return None
    wanted = Key(job.metadata.namespace, job.spec.sample_set_ref.name)
    memory.reads(wanted, Key(job.metadata.namespace, job.metadata.name))
    found = world.stores[SAMPLE_SETS].get(wanted)
    if found is None:
        return None
    try:
        return msgspec.convert({**found, **SAMPLE_SETS.identity}, SampleSet)
    except msgspec.ValidationError:
        return None  # its own controller says what is wrong with it


def observe_ports(world: World, job: PaddleJob, memory: Memory) -> frozenset[int]:
    """Give the host ports of all other jobs that have not ended."""
    going_on = (
        manifest
        for manifest in world.stores[PADDLE_JOBS]
        if (manifest.get("status") or {}).get("phase") not in ENDED and uid_of(manifest) != job.metadata.uid
    )
    recorded = (recorded_port(annotations_of(manifest)) for manifest in going_on)
    promised = memory.promised(Key(job.metadata.namespace, job.metadata.name))
    return promised.union(port for port in recorded if port is not None)


def plan_of(observed: Manifest, decision: Decision) -> Plan:
    """Say the same in the words of the loop."""
    gone = (Delete.of(PADDLE_JOBS, observed),) if decision.expired else ()
    status = None if decision.expired else Status(PADDLE_JOBS, observed, written(decision.status))
    refusal = decision.refusal
    return Plan(
        patch=(Patch(PADDLE_JOBS, key_of(observed), decision.change),) if decision.change else (),
        apply=tuple(Apply(KINDS[piece], manifest) for piece, manifest in decision.apply),
        create=tuple(Create(KINDS[piece], manifest) for piece, manifest in decision.create),
        delete=(
            *(Delete.of(KINDS[piece], manifest) for piece, manifest in decision.delete),
            *(Delete.of(KINDS[piece], manifest, grace_seconds=0) for piece, manifest in decision.strike),
            *gone,
        ),
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
