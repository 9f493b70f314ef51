"""What is seen of a SampleSet and around it: in the caches, in its Secrets, and in its servers' reports."""

import secrets as randomness
from collections.abc import Iterable, Iterator

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, labels_of, uid_of
from paddle_operator.api.samplejob import SampleJob, SampleJobPhase
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import World
from paddle_operator.controllers.observation import NODES, PADDLE_JOBS, kind_of
from paddle_operator.controllers.runtimes import Endpoint, Runtimes, Server
from paddle_operator.controllers.secrets import SECRETS, Secrets, view_of
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.desired.sampleset.decision import Piece
from paddle_operator.desired.sampleset.naming import key_of_set, owns, runtime_name, volume_name
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing, Word, Work, partition_of, runtime
from paddle_operator.desired.sampleset.servers import PORT, PORT_NAME, TOKEN_KEY
from paddle_operator.desired.sampleset.snapshot import SecretView, Settings, Snapshot
from paddle_operator.desired.sampleset.sources import secrets_of, volume_secret
from paddle_operator.engines.operations import Operation
from paddle_operator.engines.registry import engine_of
from paddle_operator.kube.request import PODS, Kind

SAMPLE_JOBS = kind_of(SampleJob)
SET, LABELLED = "sampleset", "labelled"
KINDS = {
    Piece.VOLUME: Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False),
    Piece.CLAIM: Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Piece.TOKEN: SECRETS,
    Piece.SERVICE: Kind("", "v1", "services", "Service"),
    Piece.STATEFUL_SET: Kind("apps", "v1", "statefulsets", "StatefulSet"),
    Piece.POD: PODS,
}


def set_of_label(manifest: Manifest) -> Iterable[Key]:
    """Map an object to the set that it was made for; a volume says in which namespace that is."""
    found = labels_of(manifest)
    namespace = key_of(manifest).namespace or found.get(names.LABEL_SAMPLESET_NAMESPACE, "")
    name = found.get(names.LABEL_SAMPLESET)
    return (Key(namespace, name),) if name and namespace else ()


def set_of_job(job: Manifest) -> Iterable[Key]:
    """Map a PaddleJob or a SampleJob to the set that it works on."""
    reference = (job.get("spec") or {}).get("sampleSetRef") or {}
    return (Key(key_of(job).namespace, reference["name"]),) if reference.get("name") else ()


def by_set(manifest: Manifest) -> Iterable[str]:
    return (str(key) for key in (*set_of_label(manifest), *set_of_job(manifest)))


def by_node_label(node: Manifest) -> Iterable[str]:
    return (name for name in labels_of(node) if name.startswith(names.LABEL_SAMPLESET_PREFIX))


class Observer:
    """Sees sets; `labels` remembers which set a node's label is of, from the time that the set was last looked at."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._secrets = Secrets()
        self.runtimes = Runtimes(self._secrets)
        self._labels: dict[str, Key] = {}

    def sets_of_node(self, node: Manifest) -> Iterable[Key]:
        return tuple(self._labels[name] for name in by_node_label(node) if name in self._labels)

    def forget(self, key: Key) -> None:
        self.runtimes.forget(key)
        self._labels.pop(names.sampleset_node_label(*key), None)

    async def observe(self, world: World, sample_set: SampleSet) -> Snapshot:
        """Ask for what has to be asked for first: what is in the caches then is of one moment."""
        key = key_of_set(sample_set)
        self._labels[names.sampleset_node_label(*key)] = key
        token = await self._token(world, sample_set)
        promised = token or randomness.token_urlsafe(32)
        views = await self._views(world, sample_set, promised)
        stateful_set = self._own(world, sample_set, Piece.STATEFUL_SET, runtime_name(sample_set))
        pods = list(_pods(world, sample_set, stateful_set))
        self.runtimes.follow(key, _endpoints(pods, token) if token else {})
        return Snapshot(
            sample_set=sample_set,
            now=world.now().replace(microsecond=0),
            settings=self._settings,
            engine=engine_of(sample_set),
            secrets=views,
            has_token=bool(token),
            token=promised,
            volume=self._own(world, sample_set, Piece.VOLUME, volume_name(sample_set)),
            claim=self._own(world, sample_set, Piece.CLAIM, sample_set.metadata.name),
            stateful_set=stateful_set,
            runtimes={found.partition: found for found in self._runtimes(key, sample_set, pods)},
            nodes=_nodes(world, key, pods),
            users=tuple(_users(world, key)),
        )

    async def _token(self, world: World, sample_set: SampleSet) -> str:
        """Give the servers' token; nothing if it is not made yet, or if somebody else's Secret has its name."""
        key = Key(sample_set.metadata.namespace, runtime_name(sample_set))
        found = await self._secrets.read(world.client, key)
        return found.values.get(TOKEN_KEY, "") if found is not None and found.owner == sample_set.metadata.uid else ""

    async def _views(self, world: World, sample_set: SampleSet, token: str) -> dict[Key, SecretView | None]:
        wanted = sorted(secrets_of(sample_set))
        views = {key: view_of(await self._secrets.read(world.client, key), token) for key in wanted}
        own = volume_secret(sample_set)
        if (view := views[own]) is None or not view.keys.issuperset(engine_of(sample_set).required_keys):
            self._secrets.forget(own)
        return views

    def _own(self, world: World, sample_set: SampleSet, piece: Piece, name: str) -> Manifest | None:
        kind = KINDS[piece]
        found = world.stores[kind].get(Key(sample_set.metadata.namespace if kind.namespaced else "", name))
        return found if found is not None and owns(sample_set, found) else None

    def _runtimes(self, key: Key, sample_set: SampleSet, pods: list[Manifest]) -> Iterator[Runtime]:
        for pod in pods:
            partition = partition_of(key_of(pod).name, runtime_name(sample_set))
            server = self.runtimes.heard(key, key_of(pod).name)
            if partition is not None:
                yield runtime(pod, partition, word_of(server), trouble_of(server))


def _pods(world: World, sample_set: SampleSet, stateful_set: Manifest | None) -> Iterator[Manifest]:
    """Give the pods of the set's own StatefulSet: anybody can put its label on another."""
    for pod in world.stores[PODS].find(SET, str(key_of_set(sample_set))):
        owner = controller_of(pod)
        if stateful_set is not None and owner is not None and owner.get("uid") == uid_of(stateful_set):
            yield pod


def _endpoints(pods: list[Manifest], token: str) -> dict[str, Endpoint]:
    found = {key_of(pod).name: (_url(pod), uid_of(pod)) for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    return {name: Endpoint(url, uid, token) for name, (url, uid) in found.items() if url}


def _url(pod: Manifest) -> str:
    """Go by number: it is this very pod, and the manager need not be where names of the cluster are known."""
    address = str((pod.get("status") or {}).get("podIP") or "")
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports") or []]
    port = next((port["containerPort"] for port in ports if port.get("name") == PORT_NAME), PORT)
    return f"http://{f'[{address}]' if ':' in address else address}:{port}" if address else ""


def _nodes(world: World, key: Key, pods: list[Manifest]) -> dict[str, Manifest]:
    store = world.stores[NODES]
    labelled = {key_of(node).name: node for node in store.find(LABELLED, names.sampleset_node_label(*key))}
    used = {str(pod["spec"].get("nodeName") or "") for pod in pods}
    return labelled | {name: node for name in used if (node := store.get(Key("", name))) is not None}


def _users(world: World, key: Key) -> Iterator[str]:
    """Name the jobs that work on the data now; who only waits for it does not keep it from being deleted."""
    for job in world.stores[PADDLE_JOBS].find(SET, str(key)):
        status = job.get("status") or {}
        roles = [status.get(role) or {} for role in ("ps", "worker", "heter")]
        alive = any(role.get(state) for role in roles for state in ("pending", "starting", "running", "unknown"))
        if status.get("phase") not in ENDED and alive:
            yield f"PaddleJob {key_of(job).name}"
    for job in world.stores[SAMPLE_JOBS].find(SET, str(key)):
        status = job.get("status") or {}
        begun = status.get("phase") == SampleJobPhase.RUNNING or bool(
            status.get("phase") == SampleJobPhase.PENDING and status.get("jobName")
        )
        if begun and not (job.get("spec") or {}).get("schedule") and "deletionTimestamp" not in job["metadata"]:
            yield f"SampleJob {key_of(job).name}"


def trouble_of(server: Server | None) -> str:
    if server is None or server.report is None or server.report.mounted:
        return server.trouble if server else ""
    return server.trouble or server.report.message


def word_of(server: Server | None) -> Word | None:
    """Give what a server said, in the words of a snapshot; an answer counts until the next report knows better."""
    if server is None or server.report is None:
        return None
    report = server.report
    answered = {name: found for name, found in server.answers.items() if found.state.is_final}
    operations = answered | {found.id: found for found in report.operations}
    return Word(
        mounted=report.mounted,
        data_bytes=report.data.bytes,
        data_files=report.data.files,
        cached_bytes=report.cache.used,
        capacity_bytes=report.cache.capacity,
        free_bytes=report.cache.free,
        hits=report.cache.hits,
        misses=report.cache.misses,
        works={name: work_of(found) for name, found in operations.items()},
    )


def work_of(operation: Operation) -> Work:
    return Work(
        type=operation.type,
        standing=Standing(operation.state.value),
        message=operation.message,
        lacks_keys=operation.needs_credentials,
        began=operation.start_time,
        ended=operation.end_time,
        files=operation.progress.files,
        total_files=operation.progress.total_files,
        missing_files=operation.result.missing_files if operation.result else 0,
    )
