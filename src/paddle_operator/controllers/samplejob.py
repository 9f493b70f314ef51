"""The controller of SampleJobs: it observes, asks for a plan, and has it carried out."""

import contextlib

import msgspec

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.api.samplejob import SampleJob
from paddle_operator.control.calls import Call, RefusedError
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Create, Delete, Patch, Plan, Status
from paddle_operator.control.store import by_owner
from paddle_operator.controllers.access import READ, WATCH, Access
from paddle_operator.controllers.joblines import LINE, by_line
from paddle_operator.controllers.jobobservation import OWNER, SET, Observer, key_of_reference
from paddle_operator.controllers.kinds import SAMPLE_JOBS, SAMPLE_SETS
from paddle_operator.controllers.secrets import SECRETS
from paddle_operator.controllers.setobservation import KINDS, by_set
from paddle_operator.desired.samplejob.decision import Decision
from paddle_operator.desired.samplejob.plan import plan
from paddle_operator.desired.samplejob.status import written
from paddle_operator.desired.sampleset.decision import Piece
from paddle_operator.kube.events import EVENTS, Event, EventType

NAME = "samplejob"
WORKERS = 16
WATCHED = (Piece.STATEFUL_SET, Piece.POD)
ACCESS = (
    Access(SAMPLE_JOBS, (*READ, "create", "patch", "delete")),
    Access(SAMPLE_JOBS, ("patch",), "status"),
    Access(SAMPLE_JOBS, ("update",), "finalizers"),
    Access(SAMPLE_SETS, WATCH),
    Access(EVENTS, ("get", "create", "patch")),
    Access(SECRETS, ("get",)),
    *(Access(KINDS[piece], WATCH) for piece in WATCHED),
)
ANY_SPEC: Manifest = {"type": "clear", "sampleSetRef": {"name": "any"}}


def controller() -> Controller:
    observer = Observer()

    async def reconcile(world: World, key: Key) -> Outcome:
        observer.line_up(world, key)
        observed = world.stores[SAMPLE_JOBS].get(key)
        if observed is None:
            observer.forget(key)
            return Done()
        try:
            job = decode({**observed, **SAMPLE_JOBS.identity})
        except msgspec.ValidationError as error:
            return await world.execute(hopeless({**observed, **SAMPLE_JOBS.identity}, str(error)))
        async with observer.turn(key_of_reference(job)):
            return await look(world, key)

    async def look(world: World, key: Key) -> Outcome:
        """Read it again: while others had their turn it may have changed."""
        observed = world.stores[SAMPLE_JOBS].get(key)
        if observed is None:
            return Done()
        observed = {**observed, **SAMPLE_JOBS.identity}
        return await world.execute(plan_of(observed, plan(await observer.observe(world, decode(observed)))))

    async def call(order: Call) -> None:
        """Leave it at that when a server refuses: it is seen in the next look, and is the end of the work."""
        with contextlib.suppress(RefusedError):
            await observer.runtimes.call(order)

    triggers = (
        Trigger(SAMPLE_JOBS, observer.jobs_of_job, indexes={LINE: by_line, OWNER: by_owner}),
        Trigger(SAMPLE_SETS, observer.jobs_of_set, settle=SETTLE),
        *(
            Trigger(KINDS[piece], observer.jobs_of_part, names.LABEL_SAMPLESET, SETTLE, {SET: by_set})
            for piece in WATCHED
        ),
    )
    return Controller(NAME, triggers, reconcile, WORKERS, call=call, sources=(observer.run,))


def decode(observed: Manifest) -> SampleJob:
    """Read the job; a status that nobody can read counts as none, and so does the spec of one that is to end."""
    try:
        return msgspec.convert(observed, SampleJob)
    except msgspec.ValidationError:
        spec = ANY_SPEC if "deletionTimestamp" in observed["metadata"] else observed.get("spec")
        return msgspec.convert({**observed, "spec": spec, "status": None}, SampleJob)


def plan_of(observed: Manifest, decision: Decision) -> Plan:
    """Say the same in the words of the loop."""
    namespace = key_of(observed).namespace
    status = None if decision.status is None or decision.expired else written(decision.status)
    change = {"metadata": {"finalizers": list(decision.finalizers)}} if decision.finalizers is not None else None
    gone = (Delete.of(SAMPLE_JOBS, observed),) if decision.expired else ()
    return Plan(
        patch=() if change is None else (Patch.of(SAMPLE_JOBS, observed, change),),
        create=tuple(Create(SAMPLE_JOBS, manifest) for manifest in decision.create),
        delete=(*(Delete.of(SAMPLE_JOBS, manifest) for manifest in decision.delete), *gone),
        calls=tuple(
            Call(str(Key(namespace, errand.pod)), errand.id, errand.order, errand.secret) for errand in decision.errands
        ),
        status=None if status is None else Status(SAMPLE_JOBS, observed, status),
        events=tuple(
            Event(observed, notice.reason, notice.message, EventType.WARNING if notice.warning else EventType.NORMAL)
            for notice in decision.notices
        ),
        requeue_after=decision.look_again,
    )


def hopeless(observed: Manifest, why: str) -> Plan:
    """Say of a job that nobody can read where it cannot be read."""
    metadata = observed["metadata"]
    status = {**(observed.get("status") or {}), "observedGeneration": metadata.get("generation", 0)}
    terminal = Terminal(names.REASON_INVALID, f"the SampleJob cannot be read: {why}")
    return Plan(status=Status(SAMPLE_JOBS, observed, status), terminal=terminal)
