"""The controller of SampleSets: it observes, asks for a plan, and has it carried out."""

import msgspec

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.calls import Call
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.controllers.access import CHANGE, MAKE, READ, WATCH, Access
from paddle_operator.controllers.kinds import NODES, PADDLE_JOBS, PYTORCH_JOBS, SAMPLE_JOBS, SAMPLE_SETS, TF_JOBS
from paddle_operator.controllers.setobservation import (
    KINDS,
    LABELLED,
    SET,
    Observer,
    by_node_label,
    by_set,
    set_of_job,
    set_of_label,
)
from paddle_operator.desired.sampleset.decision import Decision, Piece
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.snapshot import Settings
from paddle_operator.desired.sampleset.status import written
from paddle_operator.kube.events import EVENTS, Event, EventType
from paddle_operator.kube.request import Preconditions, Propagation

NAME = "sampleset"
WORKERS = 16
# Nodes say something every few minutes, and many at once when they start.
NODE_SETTLE = 1.0
WATCHED = (Piece.VOLUME, Piece.CLAIM, Piece.SERVICE, Piece.STATEFUL_SET, Piece.POD)
ACCESS = (
    Access(SAMPLE_SETS, (*READ, "patch")),
    Access(SAMPLE_SETS, ("patch",), "status"),
    Access(SAMPLE_SETS, ("update",), "finalizers"),
    *(Access(kind, WATCH) for kind in (PADDLE_JOBS, SAMPLE_JOBS, TF_JOBS, PYTORCH_JOBS)),
    Access(EVENTS, ("get", "list", "create", "patch")),
    Access(NODES, (*WATCH, "patch")),
    Access(KINDS[Piece.TOKEN], ("get", "create")),
    *(Access(KINDS[piece], MAKE) for piece in (Piece.POD, Piece.VOLUME, Piece.CLAIM)),
    *(Access(KINDS[piece], CHANGE) for piece in (Piece.SERVICE, Piece.STATEFUL_SET)),
)


ANY_SPEC: Manifest = {"partitions": 1, "secretRef": {"name": "any"}, "noSync": True}


def controller(settings: Settings) -> Controller:
    observer = Observer(settings)

    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[SAMPLE_SETS].get(key)
        if observed is None:
            observer.forget(key)
            return Done()
        observed = {**observed, **SAMPLE_SETS.identity}
        try:
            sample_set = decode(observed)
        except msgspec.ValidationError as error:
            return await world.execute(hopeless(observed, str(error)))
        return await world.execute(plan_of(observed, plan(await observer.observe(world, sample_set))))

    triggers = (
        Trigger(SAMPLE_SETS),
        *(Trigger(KINDS[piece], set_of_label, names.LABEL_SAMPLESET, SETTLE, {SET: by_set}) for piece in WATCHED),
        Trigger(NODES, observer.sets_of_node, settle=NODE_SETTLE, indexes={LABELLED: by_node_label}),
        *(
            Trigger(kind, set_of_job, settle=SETTLE, indexes={SET: by_set}, optional=True)
            for kind in (PADDLE_JOBS, SAMPLE_JOBS, TF_JOBS, PYTORCH_JOBS)
        ),
    )
    runtimes = observer.runtimes
    return Controller(NAME, triggers, reconcile, WORKERS, call=runtimes.call, sources=(runtimes.run,))


def decode(observed: Manifest) -> SampleSet:
    """Read the set; a status that nobody can read counts as none, and so does the spec of one that is to end."""
    try:
        return msgspec.convert(observed, SampleSet)
    except msgspec.ValidationError:
        spec = ANY_SPEC if "deletionTimestamp" in observed["metadata"] else observed.get("spec")
        return msgspec.convert({**observed, "spec": spec, "status": None}, SampleSet)


def plan_of(observed: Manifest, decision: Decision) -> Plan:
    """Say the same in the words of the loop."""
    refusal = decision.refusal
    return Plan(
        patch=tuple(patches(observed, decision)),
        apply=tuple(Apply(KINDS[piece], manifest) for piece, manifest in decision.apply),
        create=tuple(Create(KINDS[piece], manifest) for piece, manifest in decision.create),
        delete=(
            *(deletion(piece, manifest) for piece, manifest in decision.delete),
            *(Delete.of(KINDS[piece], manifest, grace_seconds=0) for piece, manifest in decision.strike),
        ),
        calls=tuple(
            Call(str(Key(key_of(observed).namespace, errand.pod)), errand.id, errand.order, errand.secret)
            for errand in decision.errands
        ),
        status=None if decision.status is None else Status(SAMPLE_SETS, observed, written(decision.status)),
        events=tuple(
            Event(observed, notice.reason, notice.message, EventType.WARNING if notice.warning else EventType.NORMAL)
            for notice in decision.notices
        ),
        requeue_after=decision.look_again,
        terminal=None if refusal is None else Terminal(refusal.reason, refusal.message),
    )


def patches(observed: Manifest, decision: Decision) -> list[Patch]:
    found = [Patch(NODES, Key("", node), {"metadata": {"labels": labels}}) for node, labels in decision.labels]
    if decision.finalizers is not None:
        change = {"metadata": {"finalizers": list(decision.finalizers)}}
        found.append(Patch.of(SAMPLE_SETS, observed, change))
    return found


def deletion(piece: Piece, manifest: Manifest) -> Delete:
    """Delete the servers before their StatefulSet: as long as it is there, they are known as its own."""
    how = Propagation.FOREGROUND if piece is Piece.STATEFUL_SET else Propagation.BACKGROUND
    return Delete(KINDS[piece], key_of(manifest), Preconditions(uid_of(manifest)), how)


def hopeless(observed: Manifest, why: str) -> Plan:
    """Say of a set that nobody can read where it cannot be read."""
    metadata = observed["metadata"]
    status = {**(observed.get("status") or {}), "observedGeneration": metadata.get("generation", 0)}
    terminal = Terminal(names.REASON_INVALID, f"the SampleSet cannot be read: {why}")
    return Plan(status=Status(SAMPLE_SETS, observed, status), terminal=terminal)
