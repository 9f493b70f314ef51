"""The controller of PaddleJobs: it observes, asks for a plan, and has it carried out."""

from dataclasses import replace

import msgspec

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.paddlejob import PaddleJob, PaddleJobStatus
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.store import by_owner
from paddle_operator.controllers import supplies
from paddle_operator.controllers.access import CHANGE, MAKE, READ, WATCH, Access
from paddle_operator.controllers.jobplan import KINDS, hopeless, plan_of
from paddle_operator.controllers.kinds import CACHE_BACKENDS, NODES, PADDLE_JOBS, SAMPLE_SETS
from paddle_operator.controllers.memory import Memory
from paddle_operator.controllers.observation import NAMESAKE, OWNER, OWNERS, by_namesake, observe, observe_silent_nodes
from paddle_operator.desired.paddlejob.hostport import host_port, lacks_record
from paddle_operator.desired.paddlejob.plan import plan
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training import abandoned
from paddle_operator.desired.training.decision import GANGS, Piece, written
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.kube.events import EVENTS

NAME = "paddlejob"
# Each waits for the API server most of the time, and jobs come in hundreds.
WORKERS = 16


# The original operator's pods have this label too, so those of a job that it began are found.
SELECTORS = {Piece.POD: names.LABEL_RESOURCE_TYPE}
ACCESS = (
    Access(PADDLE_JOBS, (*READ, "patch", "delete")),
    Access(PADDLE_JOBS, ("patch",), "status"),
    # Many clusters ask for it of whoever makes objects that hold up the deletion of their owner.
    Access(PADDLE_JOBS, ("update",), "finalizers"),
    Access(SAMPLE_SETS, WATCH),
    Access(CACHE_BACKENDS, (*WATCH, "get", "create", "patch")),
    Access(EVENTS, ("get", "create", "patch")),
    Access(NODES, ("get",)),
    Access(KINDS[Piece.POD], MAKE),
    Access(KINDS[Piece.SERVICE], CHANGE),
    Access(KINDS[Piece.CONFIG_MAP], CHANGE),
)
GANG_ACCESS = {
    Scheduling.NONE: (),
    Scheduling.VOLCANO: (Access(KINDS[Piece.POD_GROUP], CHANGE),),
    Scheduling.NATIVE: (Access(KINDS[Piece.WORKLOAD], MAKE),),
}


def access(scheduling: Scheduling) -> tuple[Access, ...]:
    """Give what the controller does in a cluster, and so must be allowed; a gang's kind only where it is asked for."""
    return (*ACCESS, *GANG_ACCESS[scheduling])


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
            return await world.execute(hopeless(PADDLE_JOBS, observed, kept(observed), str(error)))
        snapshot = observe(world, job, settings, memory)
        if late := abandoned.overdue((*snapshot.pods, *snapshot.leftovers), snapshot.now):
            silent = await observe_silent_nodes(world, (pod.node for pod in late))
            snapshot = replace(observe(world, job, settings, memory), silent_nodes=silent)
        # Since it was observed nobody else was looked at, so no two jobs choose the same port.
        memory.promise(key, host_port(snapshot) if lacks_record(job) else None)
        return await world.execute(plan_of(PADDLE_JOBS, observed, plan(snapshot)))

    triggers = (
        Trigger(PADDLE_JOBS),
        *supplies.triggers(memory),
        *(_trigger(piece) for piece in watched),
    )
    return Controller(NAME, triggers, reconcile, WORKERS)


def _trigger(piece: Piece) -> Trigger:
    labels = SELECTORS.get(piece, names.LABEL_PADDLEJOB)
    indexes = {OWNER: by_owner, NAMESAKE: by_namesake}
    return Trigger(KINDS[piece], OWNERS, labels, SETTLE, indexes, optional=piece in GANGS.values())


def decode(observed: Manifest) -> PaddleJob:
    """Read the job; a status that nobody can read counts as none."""
    try:
        return msgspec.convert(observed, PaddleJob)
    except msgspec.ValidationError:
        return msgspec.convert({**observed, "status": None}, PaddleJob)


def kept(observed: Manifest) -> Manifest:
    """Give what can be read of a job's status."""
    try:
        return written(msgspec.convert(observed.get("status") or {}, PaddleJobStatus))
    except msgspec.ValidationError:
        return {}
