"""The controller of CacheBackends: it observes, asks for a plan, and has it carried out."""

import msgspec

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.api.names import FINALIZER_CACHEBACKEND, REASON_INVALID
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.controllers.access import READ, WATCH, Access
from paddle_operator.controllers.cacheusers import (
    CACHE,
    JOBS,
    ask_for_jobs,
    by_cache,
    caches_of_job,
    decode,
    holders_of,
    observe_jobs,
    users_of,
)
from paddle_operator.controllers.kinds import CACHE_BACKENDS, SAMPLE_SETS
from paddle_operator.desired.cachebackend.engine import Piece
from paddle_operator.desired.cachebackend.plan import MADE_ONCE, Decision, plan, written
from paddle_operator.desired.cachebackend.snapshot import Sight, Snapshot
from paddle_operator.engines.registry import CACHE_ENGINES, cache_engine_name
from paddle_operator.kube.events import EVENTS, Event, EventType
from paddle_operator.kube.request import Kind, Preconditions

NAME = "cachebackend"
WORKERS = 8
# A job that was seen just now; the watch brings it, too.
CLAIMED_SECONDS = 1.0
CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
FLUID = ("data.fluid.io", "v1alpha1")
KINDS = {
    Piece.DATASET: Kind(*FLUID, "datasets", "Dataset"),
    Piece.ALLUXIO_RUNTIME: Kind(*FLUID, "alluxioruntimes", "AlluxioRuntime"),
    Piece.JUICEFS_RUNTIME: Kind(*FLUID, "juicefsruntimes", "JuiceFSRuntime"),
    Piece.DATA_LOAD: Kind(*FLUID, "dataloads", "DataLoad"),
    Piece.SAMPLE_SET: SAMPLE_SETS,
}
ACCESS = (
    Access(CACHE_BACKENDS, (*READ, "patch", "delete")),
    Access(CACHE_BACKENDS, ("patch",), "status"),
    Access(CACHE_BACKENDS, ("update",), "finalizers"),
    *(Access(kind, WATCH) for kind in JOBS),
    Access(EVENTS, ("get", "create", "patch")),
    Access(CLAIMS, WATCH),
    *(Access(KINDS[piece], (*READ, "create", *(() if piece in MADE_ONCE else ("patch",)))) for piece in KINDS),
)


def controller() -> Controller:
    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[CACHE_BACKENDS].get(key)
        if observed is None:
            return Done()
        try:
            cache = decode(observed)
        except msgspec.ValidationError as error:
            return await world.execute(hopeless(observed, str(error)))
        decision = plan(observe(world, cache))
        if decision.expired:
            return again() if users_of(await ask_for_jobs(world, key)) else await world.execute(farewell(observed))
        if decision.finalizers is not None and decision.released and holders_of(await ask_for_jobs(world, key)):
            return again()
        return await world.execute(plan_of({**observed, **CACHE_BACKENDS.identity}, decision))

    triggers = (
        Trigger(CACHE_BACKENDS),
        Trigger(CLAIMS, settle=SETTLE),
        *(Trigger(kind, settle=SETTLE, optional=True) for kind in KINDS.values()),
        *(Trigger(kind, caches_of_job, settle=SETTLE, indexes={CACHE: by_cache}, optional=True) for kind in JOBS),
    )
    return Controller(NAME, triggers, reconcile, WORKERS)


def again() -> Done:
    return Done(CLAIMED_SECONDS)


def observe(world: World, cache: CacheBackend) -> Snapshot:
    key = Key(cache.metadata.namespace, cache.metadata.name)
    name = cache_engine_name(cache.spec)
    jobs = observe_jobs(world, key)
    return Snapshot(
        cache=cache,
        now=world.now().replace(microsecond=0),
        engine=CACHE_ENGINES.get(name),
        engine_name=name,
        found={piece: seen for piece, kind in KINDS.items() if (seen := world.stores[kind].get(key)) is not None},
        claim=world.stores[CLAIMS].get(key),
        unseen={piece: sight for piece, kind in KINDS.items() if (sight := observe_sight(world, kind)) is not None},
        users=users_of(jobs),
        holders=holders_of(jobs),
    )


def observe_sight(world: World, kind: Kind) -> Sight | None:
    if world.forbids(kind):
        return Sight.FORBIDDEN
    return None if world.serves(kind) else Sight.ABSENT


def farewell(observed: Manifest) -> Plan:
    """Delete this very version: a job that comes to use the cache writes on it first, and so wins."""
    exactly = Preconditions(uid_of(observed), version_of(observed))
    return Plan(delete=(Delete(CACHE_BACKENDS, key_of(observed), exactly),))


def plan_of(observed: Manifest, decision: Decision) -> Plan:
    """Say the same in the words of the loop."""
    return Plan(
        patch=() if decision.finalizers is None else (kept_by(observed, decision.finalizers),),
        apply=tuple(Apply(KINDS[piece], manifest) for piece, manifest in decision.apply),
        create=tuple(Create(KINDS[piece], manifest) for piece, manifest in decision.create),
        status=None if decision.status is None else Status(CACHE_BACKENDS, observed, written(decision.status)),
        events=tuple(
            Event(observed, notice.reason, notice.message, EventType.WARNING if notice.warning else EventType.NORMAL)
            for notice in decision.notices
        ),
        requeue_after=decision.look_again,
    )


def kept_by(observed: Manifest, finalizers: tuple[str, ...]) -> Patch:
    return Patch.of(CACHE_BACKENDS, observed, {"metadata": {"finalizers": list(finalizers)}})


def hopeless(observed: Manifest, why: str) -> Plan:
    """Say of a cache that nobody can read where it cannot be read."""
    metadata = observed["metadata"]
    finalizers = metadata.get("finalizers") or []
    if "deletionTimestamp" in metadata and FINALIZER_CACHEBACKEND in finalizers:
        return Plan(patch=(kept_by(observed, tuple(name for name in finalizers if name != FINALIZER_CACHEBACKEND)),))
    generation = metadata.get("generation", 0)
    status = {"cacheStatus": "CacheFailed", "usedNum": 0, "observedGeneration": generation}
    terminal = Terminal(REASON_INVALID, f"the CacheBackend cannot be read: {why}")
    return Plan(status=Status(CACHE_BACKENDS, {**observed, **CACHE_BACKENDS.identity}, status), terminal=terminal)
