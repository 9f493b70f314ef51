"""The controllers of TFJobs and PyTorchJobs: they observe, ask for a plan, and have it carried out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.training import GROUP, PyTorchJob, TFJob, TrainingJobStatus
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.store import by_owner
from paddle_operator.controllers import supplies
from paddle_operator.controllers.access import CHANGE, MAKE, READ, WATCH, Access
from paddle_operator.controllers.jobplan import KINDS, hopeless, plan_of
from paddle_operator.controllers.kinds import CACHE_BACKENDS, NODES, SAMPLE_SETS, kind_of
from paddle_operator.controllers.memory import Memory
from paddle_operator.controllers.observation import (
    observe_gangs_served,
    observe_silent_nodes,
    uid_of_owner,
)
from paddle_operator.controllers.paddlejob import GANG_ACCESS
from paddle_operator.desired.kubedl.frameworks import TrainingJob
from paddle_operator.desired.kubedl.plan import plan
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.training import abandoned
from paddle_operator.desired.training.decision import GANGS, Piece, written
from paddle_operator.desired.training.observedpod import observed_pod
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.kube.events import EVENTS
from paddle_operator.kube.request import PODS, Kind

TF, PYTORCH = "tfjob", "pytorchjob"
STRUCTS: dict[str, type[TrainingJob]] = {TF: TFJob, PYTORCH: PyTorchJob}
WORKERS = 16
OURS = f"{names.LABEL_GROUP}={GROUP}"


@dataclass(frozen=True)
class Looker:
    """Sees the jobs of one kind. Other controllers index the same pods, so names of indexes begin with the kind's."""

    name: str
    scheduling: Scheduling
    memory: Memory

    @property
    def kind(self) -> Kind:
        return kind_of(STRUCTS[self.name])

    @property
    def owner(self) -> str:
        return f"{self.name}-owner"

    @property
    def namesake(self) -> str:
        return f"{self.name}-namesake"

    def by_namesake(self, manifest: Manifest) -> Iterable[str]:
        """Index by the job's name: also what an earlier job of that name has left behind."""
        return (str(key) for key in key_of_owner(self.kind)(manifest))

    def trigger(self, piece: Piece) -> Trigger:
        indexes = {self.owner: by_owner, self.namesake: self.by_namesake}
        owners = key_of_owner(self.kind)
        return Trigger(KINDS[piece], owners, OURS, SETTLE, indexes, optional=piece in GANGS.values())

    def decode(self, observed: Manifest) -> TrainingJob:
        """Read the job; a status that nobody can read counts as none."""
        struct = STRUCTS[self.name]
        try:
            return msgspec.convert(observed, struct)
        except msgspec.ValidationError:
            return msgspec.convert({**observed, "status": None}, struct)

    def observe(self, world: World, job: TrainingJob) -> Snapshot:
        def of(piece: Piece | None) -> tuple[Manifest, ...]:
            store = world.stores.get(KINDS[piece]) if piece else None
            return tuple(store.find(self.owner, job.metadata.uid)) if store else ()

        own = job.metadata
        pods = [
            observed_pod(found) for found in world.stores[PODS].find(self.namesake, str(Key(own.namespace, own.name)))
        ]
        return Snapshot(
            job=job,
            now=world.now().replace(microsecond=0),
            scheduling=self.scheduling,
            pods=tuple(pod for pod in pods if uid_of_owner(pod) == own.uid),
            leftovers=tuple(pod for pod in pods if uid_of_owner(pod) != own.uid),
            services=of(Piece.SERVICE),
            gangs=of(GANGS.get(self.scheduling)),
            gangs_served=observe_gangs_served(world, self.scheduling),
            sample_set=supplies.observe_sample_set(world, job, job.spec.sample_set_ref, self.memory),
            cache=supplies.observe_cache(world, job, job.spec.cache_backend, self.memory),
        )

    async def reconcile(self, world: World, key: Key) -> Outcome:
        observed = world.stores[self.kind].get(key)
        if observed is None:
            self.memory.forget(key)
            return Done()
        observed = {**observed, **self.kind.identity}
        try:
            job = self.decode(observed)
        except msgspec.ValidationError as error:
            return await world.execute(hopeless(self.kind, observed, kept(observed), str(error)))
        snapshot = self.observe(world, job)
        if late := abandoned.overdue((*snapshot.pods, *snapshot.leftovers), snapshot.now):
            silent = await observe_silent_nodes(world, (pod.node for pod in late))
            snapshot = replace(self.observe(world, job), silent_nodes=silent)
        return await world.execute(plan_of(self.kind, observed, plan(snapshot)))


def controller(name: str, scheduling: Scheduling = Scheduling.NONE) -> Controller:
    """Give the controller; a gang's kind is watched only where it is asked for, since few clusters know it."""
    looker = Looker(name, scheduling, Memory())
    gang = GANGS.get(scheduling)
    watched = (Piece.POD, Piece.SERVICE, *([gang] if gang else []))
    triggers = (
        Trigger(looker.kind),
        *supplies.triggers(looker.memory),
        *(looker.trigger(piece) for piece in watched),
    )
    return Controller(name, triggers, looker.reconcile, WORKERS)


def access(name: str, scheduling: Scheduling = Scheduling.NONE) -> tuple[Access, ...]:
    """Give what the controller does in a cluster, and so must be allowed; a gang's kind only where it is asked for."""
    own = kind_of(STRUCTS[name])
    return (
        Access(own, (*WATCH, "delete")),
        Access(own, ("patch",), "status"),
        Access(own, ("update",), "finalizers"),
        Access(SAMPLE_SETS, WATCH),
        Access(CACHE_BACKENDS, (*READ, "create", "patch")),
        Access(EVENTS, ("get", "create", "patch")),
        Access(NODES, ("get",)),
        Access(KINDS[Piece.POD], MAKE),
        Access(KINDS[Piece.SERVICE], CHANGE),
        *GANG_ACCESS[scheduling],
    )


def kept(observed: Manifest) -> Manifest:
    """Give what can be read of a job's status."""
    try:
        return written(msgspec.convert(observed.get("status") or {}, TrainingJobStatus))
    except msgspec.ValidationError:
        return {}
