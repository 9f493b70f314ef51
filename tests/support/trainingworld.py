"""A world of one TFJob or PyTorchJob without a cluster: plans are carried out, and pods do as they are told."""

import copy
import datetime as dt

import msgspec

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.api.training import PyTorchJob, TFJob, TrainingJobStatus
from paddle_operator.desired.kubedl.plan import TrainingDecision, plan
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.training.decision import GANGS, Piece, written
from paddle_operator.desired.training.observedpod import observed_pod
from paddle_operator.desired.training.settings import Scheduling
from support.caches import FLUID, cache_backend
from support.paddleworld import NOON, ran

MOST_PASSES = 30
STRUCTS: dict[str, type[TFJob | PyTorchJob]] = {"TFJob": TFJob, "PyTorchJob": PyTorchJob}


def replicas(number: int | None = None, container: str = "tensorflow", **spec: object) -> Manifest:
    template = {"spec": {"containers": [{"name": container, "image": "demo:v1"}]}}
    return {"template": template, **({} if number is None else {"replicas": number}), **spec}


def training_job(kind: str, types: Manifest, name: str = "demo", /, **spec: object) -> Manifest:
    field = "tfReplicaSpecs" if kind == "TFJob" else "pytorchReplicaSpecs"
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": "9a79c-uid", "generation": 1},
        "spec": {field: types, **spec},
    }


def tf_job(types: Manifest | None = None, /, **spec: object) -> Manifest:
    return training_job("TFJob", types or {"PS": replicas(1), "Worker": replicas(2)}, **spec)


def torch_job(types: Manifest | None = None, /, **spec: object) -> Manifest:
    found = types or {"Master": replicas(1, "pytorch"), "Worker": replicas(2, "pytorch")}
    return training_job("PyTorchJob", found, **spec)


def ready_cache(word: str = "PVCCreated", engine: Manifest | None = None, /, **spec: object) -> Manifest:
    message = {"type": "Ready", "status": "True" if word == "PVCCreated" else "False", "message": "as Fluid says"}
    label = {"nodeLabel": "fluid.io/s-default-mnist"} if "fluid" in (engine or FLUID) else {}
    status = {"cacheStatus": word, "conditions": [message], **label}
    return {**cache_backend("mnist", engine, **spec), "status": status}


class TrainingWorld:
    def __init__(self, job: Manifest, scheduling: Scheduling = Scheduling.NONE) -> None:
        self.job = copy.deepcopy(job)
        self.scheduling = scheduling
        self.now = NOON
        self.objects: dict[tuple[Piece, str], Manifest] = {}
        self.cache: Manifest | None = None
        self.sample_set: Manifest | None = None
        self.gangs_served = True
        self.expired = False
        self.claims: list[str] = []
        self.writes: list[str] = []
        self.told: list[str] = []
        self._made = 0

    def snapshot(self) -> Snapshot:
        gang = GANGS.get(self.scheduling)
        return Snapshot(
            job=msgspec.convert(self.job, STRUCTS[self.job["kind"]]),
            now=self.now,
            scheduling=self.scheduling,
            pods=tuple(observed_pod(found) for found in self.all(Piece.POD)),
            services=tuple(self.all(Piece.SERVICE)),
            gangs=tuple(self.all(gang)) if gang else (),
            gangs_served=self.gangs_served,
            sample_set=None if self.sample_set is None else msgspec.convert(self.sample_set, SampleSet),
            cache=None if self.cache is None else msgspec.convert(self.cache, CacheBackend),
        )

    def step(self) -> TrainingDecision:
        decision = plan(self.snapshot())
        if decision.claimed:
            self.claims.append(decision.claimed["metadata"]["annotations"]["cache.kubedl.io/claimed-by"])
        for piece, manifest in decision.apply:
            self._put(piece, manifest, "apply")
        for piece, manifest in decision.create:
            if (piece, manifest["metadata"]["name"]) not in self.objects:
                self._put(piece, manifest, "create")
        for piece, manifest in decision.delete:
            del self.objects[piece, manifest["metadata"]["name"]]
            self.writes.append(f"delete {piece} {manifest['metadata']['name']}")
        self.expired = self.expired or decision.expired
        if not decision.expired and written(decision.status) != self.job.get("status", {}):
            self.job["status"] = written(decision.status)
            self.writes.append("status")
        self.told += [f"{notice.reason}!" if notice.warning else notice.reason for notice in decision.notices]
        return decision

    def _put(self, piece: Piece, manifest: Manifest, verb: str) -> None:
        name = manifest["metadata"]["name"]
        present = self.objects.get((piece, name), {})
        wanted = copy.deepcopy(manifest)
        wanted["metadata"]["uid"] = present.get("metadata", {}).get("uid") or self._uid()
        if {**present, **wanted} != present:
            self.objects[piece, name] = {**present, **wanted}
            self.writes.append(f"{verb} {piece} {name}")

    def _uid(self) -> str:
        self._made += 1
        return f"uid-{self._made}"

    def settle(self) -> "TrainingWorld":
        """Make passes until one writes nothing."""
        for _ in range(MOST_PASSES):
            before = len(self.writes)
            self.step()
            if len(self.writes) == before:
                return self
        raise AssertionError(f"it does not settle: {self.writes[-10:]}")

    # What others do.

    def later(self, seconds: float) -> "TrainingWorld":
        self.now += dt.timedelta(seconds=seconds)
        return self

    def edit(self, **spec: object) -> None:
        self.job["spec"] = {**self.job["spec"], **spec}
        self.job["metadata"]["generation"] += 1

    def run(self, *names: str, restarts: int = 0) -> "TrainingWorld":
        for name in names or self.pods:
            state = {"name": "train", "ready": True, "restartCount": restarts, "state": {"running": {}}}
            self.pod(name)["status"] = {"phase": "Running", "containerStatuses": [state]}
        return self.settle()

    def end(self, *names: str, code: int = 0, reason: str = "") -> "TrainingWorld":
        finished = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        for name in names:
            (container, *_) = self.pod(name)["spec"]["containers"]
            state = ran(code, "Error" if code else "Completed", finished)
            status = {"phase": "Failed" if code else "Succeeded", "reason": reason}
            self.pod(name)["status"] = {**status, "containerStatuses": [{"name": container["name"], "state": state}]}
        return self.settle()

    def lose(self, name: str) -> None:
        del self.objects[Piece.POD, name]

    # What is there.

    def all(self, piece: Piece) -> list[Manifest]:
        return [manifest for (found, _), manifest in sorted(self.objects.items()) if found is piece]

    def names(self, piece: Piece) -> list[str]:
        return [manifest["metadata"]["name"] for manifest in self.all(piece)]

    @property
    def pods(self) -> list[str]:
        return self.names(Piece.POD)

    def pod(self, name: str) -> Manifest:
        return self.objects[Piece.POD, name]

    def env(self, name: str, container: int = 0) -> dict[str, str]:
        found = self.pod(name)["spec"]["containers"][container].get("env", [])
        return {variable["name"]: variable.get("value", "") for variable in found}

    @property
    def status(self) -> TrainingJobStatus:
        return msgspec.convert(self.job["status"], TrainingJobStatus)

    @property
    def state(self) -> str:
        """Give what the column State shows."""
        return self.status.conditions[-1].type

    def why(self, kind: str | None = None) -> str:
        found = [one for one in self.status.conditions if kind in (None, one.type)]
        return f"{found[-1].reason}: {found[-1].message}" if found else ""
