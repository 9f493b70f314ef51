"""What a cluster does for SampleSets: it binds claims, makes the pods of StatefulSets, and runs a server in each."""

import asyncio
import base64
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, labels_of, uid_of
from paddle_operator.embedded.apiserver.deletion import Deletion
from paddle_operator.engines.operations import OperationState
from support.embeddedapi import Api
from support.fakeruntime import FakeRuntime, Spool

PAUSE = 0.003
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LONG_AGO = "2026-01-01T00:00:00Z"
IN_USE, OF_VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
WELL = {
    "sync": OperationState.SUCCEEDED,
    "warmup": OperationState.SUCCEEDED,
    "clear": OperationState.SUCCEEDED,
    "rmr": OperationState.SUCCEEDED,
}
MakeServer = Callable[[Spool, Callable[[], str], dict[str, OperationState]], FakeRuntime]


class CacheCluster:
    """Nodes in `dead` do nothing any more, those in `cordoned` take no server.

    `deaf` pods run and do not listen; `stuck` ones do not start. `endings` and `refusals` are those of all servers.
    `cleaned` are the nodes that pods emptied, with the namespaces of these.
    """

    def __init__(self, api: Api) -> None:
        self.api = api
        self.runtimes: dict[Key, FakeRuntime] = {}
        self.spools: defaultdict[tuple[str, str], Spool] = defaultdict(Spool)
        self.endings = dict(WELL)
        self.refusals: dict[str, str] = {}
        self.make_server: MakeServer = FakeRuntime
        self.binds = True
        self.dead: set[str] = set()
        self.cordoned: set[str] = set()
        self.deaf: set[Key] = set()
        self.stuck: set[Key] = set()
        self.cleaned: list[tuple[str, str]] = []

    def add_nodes(self, *names: str) -> None:
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        for name in names:
            self.api.put("nodes", {"metadata": {"name": name}, "status": ready})

    def runtime(self, partition: int = 0, name: str = "imagenet", namespace: str = "default") -> FakeRuntime:
        return self.runtimes[Key(namespace, f"{name}-runtime-{partition}")]

    async def run(self) -> None:
        seen = -1
        try:
            while True:
                if seen != self.api.version:
                    seen = self.api.version
                    self._bind()
                    await self._keep_pods()
                    self._schedule()
                    await self._serve()
                    self._clean()
                await asyncio.sleep(PAUSE)
        finally:
            for server in self.runtimes.values():
                await server.stop()

    # Volumes.

    def _bind(self) -> None:
        claims = {key_of(found): found for found in self.api.all("persistentvolumeclaims")}
        for volume in self.api.all("persistentvolumes"):
            reference = volume["spec"]["claimRef"]
            claim = claims.get(Key(reference["namespace"], reference["name"]))
            self._keep_volume(volume, claim)
        for key, claim in claims.items():
            self._protect("persistentvolumeclaims", claim, IN_USE, held=self._is_mounted(key))

    def _keep_volume(self, volume: Manifest, claim: Manifest | None) -> None:
        reference, name = volume["spec"]["claimRef"], volume["metadata"]["name"]
        fits = claim is not None and claim["spec"]["volumeName"] == name
        mine = fits and claim is not None and reference.get("uid") in (None, uid_of(claim))
        self._protect("persistentvolumes", volume, OF_VOLUME, held=mine)
        if "deletionTimestamp" in volume["metadata"]:
            return
        if claim is not None and mine and self.binds:
            self._say("persistentvolumes", volume, {"phase": "Bound"}, spec={"claimRef": {"uid": uid_of(claim)}})
            self._say("persistentvolumeclaims", claim, {"phase": "Bound"})
        elif reference.get("uid") and not mine:
            self._say("persistentvolumes", volume, {"phase": "Released"})

    def _is_mounted(self, claim: Key) -> bool:
        return any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim.name
            for pod in self.api.all("pods")
            if pod["metadata"]["namespace"] == claim.namespace and (pod.get("status") or {}).get("phase") != "Succeeded"
            for volume in pod["spec"].get("volumes", [])
        )

    def _protect(self, plural: str, manifest: Manifest, finalizer: str, *, held: bool) -> None:
        present = manifest["metadata"].get("finalizers") or []
        going = "deletionTimestamp" in manifest["metadata"]
        if not going and finalizer not in present:
            self._put(plural, manifest, metadata={"finalizers": [*present, finalizer]})
        elif going and not held and finalizer in present:
            self._put(plural, manifest, metadata={"finalizers": [name for name in present if name != finalizer]})

    # Pods.

    async def _keep_pods(self) -> None:
        for found in self.api.all("statefulsets"):
            if "deletionTimestamp" in found["metadata"]:
                continue
            key = key_of(found)
            template = found["spec"]["template"]
            pods = {key_of(pod).name: pod for pod in self.api.all("pods") if is_of(pod, found)}
            wanted = [f"{key.name}-{number}" for number in range(found["spec"]["replicas"])]
            for name in wanted:
                if name not in pods:
                    await self._make_pod(found, name)
            outdated = [name for name, pod in pods.items() if edition(pod) != edition(template)]
            for name in [name for name in pods if name not in wanted] + outdated[:1]:
                if "deletionTimestamp" not in pods[name]["metadata"]:
                    self.api.remove("pods", Key(key.namespace, name))

    async def _make_pod(self, stateful_set: Manifest, name: str) -> None:
        namespace = stateful_set["metadata"]["namespace"]
        template = stateful_set["spec"]["template"]
        server = self.make_server(
            Spool(), lambda: self._token(namespace, stateful_set["metadata"]["name"]), self.endings
        )
        server.refusals = self.refusals
        await server.start()
        if Key(namespace, name) in self.deaf:
            await server.stop()
        self.runtimes[Key(namespace, name)] = server
        container = {**template["spec"]["containers"][0], "ports": [{"name": "runtime", "containerPort": server.port}]}
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": stateful_set["metadata"]["name"]}
        owner |= {"uid": uid_of(stateful_set), "controller": True, "blockOwnerDeletion": True}
        metadata = {**template["metadata"], "name": name, "namespace": namespace, "ownerReferences": [owner]}
        self.api.put("pods", {"metadata": metadata, "spec": {**template["spec"], "containers": [container]}})

    def _token(self, namespace: str, secret: str) -> str:
        return base64.b64decode(self.api.get("secrets", namespace, secret)["data"]["token"]).decode()

    def _schedule(self) -> None:
        for pod in self.api.all("pods"):
            if pod["spec"].get("nodeName"):
                continue
            apart = [other for other in self.api.all("pods") if repels(pod, other) or repels(other, pod)]
            taken = {other["spec"].get("nodeName") for other in apart}
            closed = set() if pin(pod) else self.dead | self.cordoned
            fit = [node for node in self.api.all("nodes") if pin(pod) in ("", key_of(node).name)]
            free = [node for node in fit if key_of(node).name not in taken | closed]
            if free:
                best = max(free, key=lambda node: preference(pod, node))
                self._put("pods", pod, spec={"nodeName": key_of(best).name})

    async def _serve(self) -> None:
        """Let each node's kubelet start what is new, and end what is deleted."""
        for pod in self.api.all("pods"):
            node, server = pod["spec"].get("nodeName"), self.runtimes.get(key_of(pod))
            if node is None or node in self.dead or server is None:
                continue
            if "deletionTimestamp" in pod["metadata"]:
                await server.stop()
                self.api._objects.delete(self.api._resources["pods"], key_of(pod), Deletion(grace_seconds=0))
            elif key_of(pod) in self.stuck:
                self._say("pods", pod, {"phase": "Pending", "startTime": LONG_AGO})
            elif not (pod.get("status") or {}).get("podIP"):
                server.spool = self.spools[node, pod["spec"]["volumes"][1]["hostPath"]["path"]]
                conditions = [{"type": "Ready", "status": "True"}]
                status = {"phase": "Running", "podIP": "127.0.0.1", "conditions": conditions}
                self._say("pods", pod, status)

    def _clean(self) -> None:
        """Let each node's kubelet run the pods that empty a cache, and end those that are deleted."""
        for pod in self.api.all("pods"):
            node = pod["spec"].get("nodeName")
            if not pin(pod) or node is None or node in self.dead:
                continue
            if "deletionTimestamp" in pod["metadata"]:
                self.api._objects.delete(self.api._resources["pods"], key_of(pod), Deletion(grace_seconds=0))
            elif (pod.get("status") or {}).get("phase") in (None, "Pending"):
                self.spools[node, pod["spec"]["volumes"][0]["hostPath"]["path"]].give_up()
                self.cleaned.append((node, key_of(pod).namespace))
                self._say("pods", pod, {"phase": "Succeeded"})

    def complain(self, partition: int, message: str) -> None:
        """Let the node of a server say what is in the way of its start."""
        pod = self.api.get("pods", "default", f"imagenet-runtime-{partition}")
        about = {"kind": "Pod", "namespace": "default", "name": key_of(pod).name, "uid": uid_of(pod)}
        told = {"reason": "FailedMount", "type": "Warning", "message": message, "lastTimestamp": LONG_AGO}
        self.api.put("events", {"metadata": {"name": "said", "namespace": "default"}, "involvedObject": about, **told})

    def kill_node(self, name: str) -> None:
        self.dead.add(name)
        silent = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
        self.api.put("nodes", {"metadata": {"name": name}, "status": silent})

    def revive_node(self, name: str) -> None:
        self.dead.remove(name)
        self.add_nodes(name)

    def move(self, partition: int, away_from: str) -> None:
        """Have a server leave a node, which stays."""
        self.cordoned.add(away_from)
        self.api.remove("pods", Key("default", f"imagenet-runtime-{partition}"))

    def cache(self, node: str) -> Spool:
        """Give what is on a node of the only set that there is."""
        (found,) = (spool for (name, _), spool in self.spools.items() if name == node)
        return found

    def unready(self, partition: int = 0) -> None:
        pod = self.api.get("pods", "default", f"imagenet-runtime-{partition}")
        self._say("pods", pod, {"conditions": [{"type": "Ready", "status": "False"}]})

    def _say(self, plural: str, manifest: Manifest, status: Manifest, **parts: Manifest) -> None:
        if any((manifest.get("status") or {}).get(name) != value for name, value in status.items()):
            self._put(plural, manifest, status=status, **parts)

    def _put(self, plural: str, manifest: Manifest, metadata: Manifest | None = None, **parts: Manifest) -> None:
        where = {name: value for name, value in zip(("namespace", "name"), key_of(manifest), strict=True) if value}
        self.api.put(plural, {"metadata": {**where, **(metadata or {})}, **parts})


def is_of(pod: Manifest, stateful_set: Manifest) -> bool:
    return (controller_of(pod) or {}).get("uid") == uid_of(stateful_set)


def repels(pod: Manifest, other: Manifest) -> bool:
    """Tell whether a pod must not be beside another, which has not ended."""
    if pod is other or (other.get("status") or {}).get("phase") == "Succeeded":
        return False
    rules = ((pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}).get(REQUIRED, [])
    return any(
        other["metadata"]["namespace"] in rule.get("namespaces", [pod["metadata"]["namespace"]])
        and rule["labelSelector"]["matchLabels"].items() <= labels_of(other).items()
        for rule in rules
    )


def pin(pod: Manifest) -> str:
    """Give the one node that a pod may be on."""
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    fields = [field for term in required.get("nodeSelectorTerms", []) for field in term.get("matchFields", [])]
    return str(fields[0]["values"][0]) if fields else ""


def preference(pod: Manifest, node: Manifest) -> int:
    """Count what a pod would like of a node, as far as it asks for labels that are there."""
    terms = (pod["spec"].get("affinity") or {}).get("nodeAffinity", {}).get(PREFERRED, [])
    return sum(
        int(term["weight"])
        for term in terms
        if all(asked["key"] in labels_of(node) for asked in term["preference"]["matchExpressions"])
    )


def edition(manifest: Manifest) -> tuple[object, ...]:
    """Give what a pod is made anew for."""
    annotations = manifest["metadata"].get("annotations") or {}
    return annotations.get("batch.paddlepaddle.org/secret-version"), manifest["spec"]["containers"][0]["image"]


@contextlib.asynccontextmanager
async def running(api: Api, *nodes: str) -> AsyncIterator[CacheCluster]:
    cluster = CacheCluster(api)
    cluster.add_nodes(*nodes)
    task = asyncio.create_task(cluster.run())
    try:
        yield cluster
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
