"""A world of one PaddleJob without a cluster: plans are carried out write by write, and pods do as they are told."""

import copy
import datetime as dt
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob, PaddleJobStatus
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.paddlejob.decision import Decision
from paddle_operator.desired.paddlejob.plan import plan
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.training.decision import GANGS, Piece, written
from paddle_operator.desired.training.observedpod import observed_pod

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
IMAGE = "registry.example.com/paddle-operator:1"
MOST_PASSES = 30
NODE = "node-1"


def role(replicas: int, **spec: object) -> Manifest:
    container = {"name": "train", "image": "registry.example.com/demo:v1"}
    return {"replicas": replicas, "template": {"spec": {"containers": [container], **spec}}}


def paddle_job(name: str = "demo", **spec: object) -> Manifest:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": "team", "uid": "uid-1", "generation": 1},
        "spec": spec,
    }


def sample_set(phase: str = "Ready", partitions: int = 2) -> Manifest:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {"name": "imagenet", "namespace": "team"},
        "spec": {"partitions": partitions, "secretRef": {"name": "imagenet"}, "noSync": True},
        "status": {"phase": phase},
    }


def ran(code: int = 0, reason: str = "Completed", finished: str = "2026-01-01T12:00:00Z") -> Manifest:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": finished}}


class PaddleWorld:
    """`graceful`: deleted pods stay, being deleted, until they are reaped. `full`: no node has room for new pods."""

    def __init__(self, job: Manifest, settings: Settings | None = None, *, graceful: bool = False) -> None:
        self.job = copy.deepcopy(job)
        self.settings = settings or Settings(init_image=IMAGE)
        self.graceful = graceful
        self.now = NOON
        self.objects: dict[tuple[Piece, str], Manifest] = {}
        self.sample_set: Manifest | None = None
        self.cache: Manifest | None = None
        self.taken_ports: frozenset[int] = frozenset()
        self.silent_nodes: frozenset[str] = frozenset()
        self.leftovers: list[Manifest] = []
        self.gangs_served = True
        self.expired = False
        self.full = False
        self.writes: list[str] = []
        self.told: list[str] = []
        self._made = 0

    # What the controller does.

    def snapshot(self) -> Snapshot:
        gang = GANGS.get(self.settings.scheduling)
        return Snapshot(
            job=msgspec.convert(self.job, PaddleJob),
            now=self.now,
            settings=self.settings,
            pods=tuple(observed_pod(found) for found in self.all(Piece.POD)),
            services=tuple(self.all(Piece.SERVICE)),
            config_maps=tuple(self.all(Piece.CONFIG_MAP)),
            gangs=tuple(self.all(gang)) if gang else (),
            gangs_served=self.gangs_served,
            sample_set=None if self.sample_set is None else msgspec.convert(self.sample_set, SampleSet),
            cache=None if self.cache is None else msgspec.convert(self.cache, CacheBackend),
            taken_ports=self.taken_ports,
            silent_nodes=self.silent_nodes,
            leftovers=tuple(map(observed_pod, self.leftovers)),
        )

    def step(self, most: int | None = None) -> Decision:
        """Make one pass, and carry out at most so many of its writes."""
        decision = plan(self.snapshot())
        for number, write in enumerate(self._writes(decision)):
            if number == most:
                return decision
            write()
        self.told += [f"{notice.reason}!" if notice.warning else notice.reason for notice in decision.notices]
        return decision

    def settle(self) -> "PaddleWorld":
        """Make passes until one writes nothing."""
        for _ in range(MOST_PASSES):
            before = len(self.writes)
            self.step()
            if len(self.writes) == before:
                return self
        raise AssertionError(f"it does not settle: {self.writes[-10:]}")

    def _writes(self, decision: Decision) -> Iterator[Callable[[], None]]:
        if decision.change:
            yield partial(self._change, decision.change)
        for piece, manifest in decision.apply:
            yield partial(self._apply, piece, manifest)
        for piece, manifest in decision.create:
            yield partial(self._create, piece, manifest)
        for piece, manifest in decision.delete:
            yield partial(self._delete, piece, manifest)
        for _, manifest in decision.strike:
            yield partial(self._strike, manifest["metadata"]["name"])
        yield partial(self._end, decision)

    def _change(self, change: Manifest) -> None:
        self._write("PaddleJob", self.job, merged(self.job, change))

    def _apply(self, piece: Piece, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        present = self.objects.get((piece, name), {})
        wanted = {**present, **copy.deepcopy(manifest)}
        if wanted != present:
            self.objects[piece, name] = wanted
            self.writes.append(f"apply {piece} {name}")

    def _create(self, piece: Piece, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        if (piece, name) not in self.objects:
            self._made += 1
            made = copy.deepcopy(manifest)
            made["metadata"]["uid"] = f"{piece}-{self._made}"
            if piece is Piece.POD and not self.full:
                made["spec"].setdefault("nodeName", NODE)
            self.objects[piece, name] = made
            self.writes.append(f"create {piece} {name}")

    def _delete(self, piece: Piece, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        if piece is Piece.POD and self.graceful:
            self.objects[piece, name]["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
        else:
            del self.objects[piece, name]
        self.writes.append(f"delete {piece} {name}")

    def _strike(self, pod: str) -> None:
        self.lose(pod)
        self.writes.append(f"strike {pod}")

    def _end(self, decision: Decision) -> None:
        if decision.expired:
            self.expired = True
            self.writes.append("delete PaddleJob")
            return
        self._write("status", self.job, {**self.job, "status": written(decision.status)})

    def _write(self, what: str, present: Manifest, wanted: Manifest) -> None:
        if wanted != present:
            self.job = wanted
            self.writes.append(f"write {what}")

    # What others do.

    def edit(self, **spec: object) -> None:
        self.job["spec"] = {**self.job["spec"], **spec}
        self.job["metadata"]["generation"] += 1

    def later(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)

    def pod(self, name: str) -> Manifest:
        return self.objects[Piece.POD, name]

    def run(self, *names: str) -> None:
        for number, name in enumerate(names or self.names(Piece.POD)):
            state = {"name": "train", "ready": True, "state": {"running": {}}}
            address = f"10.0.0.{self._made * 10 + number}"
            self.pod(name)["status"] = {"phase": "Running", "podIP": address, "containerStatuses": [state]}

    def succeed(self, *names: str) -> None:
        for name in names:
            status = {"phase": "Succeeded", "containerStatuses": [{"name": "train", "state": ran()}]}
            self.pod(name)["status"] = {**self.pod(name).get("status", {}), **status}

    def fail(self, name: str, code: int = 1, reason: str = "Error") -> None:
        finished = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"phase": "Failed", "containerStatuses": [{"name": "train", "state": ran(code, reason, finished)}]}
        self.pod(name)["status"] = {**self.pod(name).get("status", {}), **status}

    def address(self, name: str, address: str) -> None:
        self.pod(name)["status"] = {"phase": "Pending", "podIP": address}

    def wait(self, name: str) -> None:
        """Have it wait for its peers from now on."""
        since = {"running": {"startedAt": self.now.strftime("%Y-%m-%dT%H:%M:%SZ")}}
        waiting = [{"name": "coord-paddle", "state": since}]
        self.pod(name)["status"] = {"phase": "Pending", "initContainerStatuses": waiting}

    def sought(self, name: str) -> list[str]:
        """Tell whom it waits for, besides itself."""
        made = [found for found in self.pod(name)["spec"].get("initContainers", []) if found["name"] == "coord-paddle"]
        return [word for found in made for word in found["args"] if not word.startswith("--")]

    def lose(self, name: str) -> None:
        del self.objects[Piece.POD, name]

    def reap(self) -> None:
        """Take away the pods that are being deleted."""
        for name in self.names(Piece.POD):
            if "deletionTimestamp" in self.pod(name)["metadata"]:
                self.lose(name)

    # What is there.

    def all(self, piece: Piece) -> list[Manifest]:
        return [manifest for (found, _), manifest in sorted(self.objects.items()) if found is piece]

    def names(self, piece: Piece) -> list[str]:
        return [manifest["metadata"]["name"] for manifest in self.all(piece)]

    @property
    def pods(self) -> list[str]:
        return self.names(Piece.POD)

    @property
    def status(self) -> PaddleJobStatus:
        return msgspec.convert(self.job["status"], PaddleJobStatus)

    @property
    def why(self) -> str:
        """Give the reason and the message of the condition that everybody looks at."""
        told = self.status.conditions[0]
        return f"{told.reason}: {told.message}"

    @property
    def config(self) -> dict[str, str]:
        (found,) = self.all(Piece.CONFIG_MAP)
        data: dict[str, str] = found["data"]
        return data


def merged(base: Manifest, change: Manifest) -> Manifest:
    result = dict(base)
    for name, value in change.items():
        result[name] = merged(base.get(name) or {}, value) if isinstance(value, dict) else value
    return result
