"""What is seen of a SampleSet and around it: in the caches, in its Secrets, and in its servers' reports."""

import contextlib
import secrets as randomness
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, labels_of, uid_of
from paddle_operator.api.sampleset import SampleSet, SampleSetStatus
from paddle_operator.control.controller import World
from paddle_operator.controllers.hindrances import Hindrances
from paddle_operator.controllers.kinds import NODES
from paddle_operator.controllers.runtimes import Endpoint, Runtimes
from paddle_operator.controllers.secrets import SECRETS, Secrets, view_of
from paddle_operator.controllers.users import observe_users
from paddle_operator.controllers.words import trouble_of, word_of
from paddle_operator.desired.sampleset.decision import Piece
from paddle_operator.desired.sampleset.naming import (
    is_of_original,
    key_of_set,
    owns,
    runtime_name,
    service_name,
    volume_name,
)
from paddle_operator.desired.sampleset.runtimes import Runtime, partition_of, runtime
from paddle_operator.desired.sampleset.servers import PORT, PORT_NAME, TOKEN_KEY
from paddle_operator.desired.sampleset.snapshot import SecretView, Settings, Snapshot
from paddle_operator.desired.sampleset.sources import secrets_of, volume_secret
from paddle_operator.engines.registry import engine_of
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind, Scope

SET, LABELLED = "sampleset", "labelled"
FINISHED = ("Succeeded", "Failed")
KINDS = {
    Piece.VOLUME: Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False),
    Piece.CLAIM: Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Piece.TOKEN: SECRETS,
    Piece.SERVICE: Kind("", "v1", "services", "Service"),
    Piece.STATEFUL_SET: Kind("apps", "v1", "statefulsets", "StatefulSet"),
    Piece.POD: PODS,
}


def set_of_label(manifest: Manifest) -> Iterable[Key]:
    """Map an object to the set that it was made for; what is not of the same namespace says in which that is."""
    found = labels_of(manifest)
    namespace = found.get(names.LABEL_SAMPLESET_NAMESPACE) or key_of(manifest).namespace
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
        self._hindrances = Hindrances()

    def sets_of_node(self, node: Manifest) -> Iterable[Key]:
        return tuple(self._labels[name] for name in by_node_label(node) if name in self._labels)

    def forget(self, key: Key) -> None:
        self.runtimes.forget(key)
        self._labels.pop(names.sampleset_node_label(*key), None)

    async def observe(self, world: World, sample_set: SampleSet) -> Snapshot:
        """Ask for what has to be asked for first: what is in the caches then is of one moment."""
        key = key_of_set(sample_set)
        self._labels[names.sampleset_node_label(*key)] = key
        token = await observe_token(world, self._secrets, sample_set)
        promised = token or randomness.token_urlsafe(32)
        views = await self._views(world, sample_set, promised)
        hindrances = await self._hindrances.observe(world, self._servers(world, sample_set))
        stateful_set = own_object(world, sample_set, Piece.STATEFUL_SET, runtime_name(sample_set))
        pods = list(pods_of(world, sample_set, stateful_set, SET))
        self.runtimes.follow(key, endpoints_of(pods, token) if token else {})
        ends = sample_set.metadata.deletion_timestamp is not None
        originals = await observe_originals(world, sample_set) if ends else {}
        jobs = tuple(observe_users(world, key, SET))
        others = await observe_mounting(world, key, {uid_of(pod) for pod in pods}) if ends and not jobs else []
        return Snapshot(
            sample_set=sample_set,
            now=world.now().replace(microsecond=0),
            settings=self._settings,
            engine=engine_of(sample_set),
            secrets=views,
            has_token=bool(token),
            token=promised,
            volume=own_object(world, sample_set, Piece.VOLUME, volume_name(sample_set)),
            claim=own_object(world, sample_set, Piece.CLAIM, sample_set.metadata.name),
            stateful_set=stateful_set,
            runtimes={
                found.partition: replace(found, hindrance=hindrances.get(found.name, ""))
                for found in runtimes_of(self.runtimes, sample_set, pods)
            },
            nodes=_nodes(world, sample_set, [*pods, *others], originals),
            cleaners=tuple(cleaners_of(world, sample_set)),
            originals=originals,
            users=jobs or tuple(f"Pod {key_of(pod).name}" for pod in others if not has_finished(pod)),
            remains=tuple(f"Pod {key_of(pod).name}" for pod in others if has_finished(pod)),
            read_on=tuple(str(pod["spec"]["nodeName"]) for pod in others),
        )

    def _servers(self, world: World, sample_set: SampleSet) -> Iterator[Runtime]:
        stateful_set = own_object(world, sample_set, Piece.STATEFUL_SET, runtime_name(sample_set))
        return runtimes_of(self.runtimes, sample_set, list(pods_of(world, sample_set, stateful_set, SET)))

    async def _views(self, world: World, sample_set: SampleSet, token: str) -> dict[Key, SecretView | None]:
        wanted = sorted(secrets_of(sample_set))
        views = {key: view_of(await self._secrets.read(world.client, key), token) for key in wanted}
        own = volume_secret(sample_set)
        if (view := views[own]) is None or not view.keys.issuperset(engine_of(sample_set).required_keys):
            self._secrets.forget(own)
        return views


async def observe_token(world: World, secrets: Secrets, sample_set: SampleSet) -> str:
    """Give the servers' token; nothing if it is not made yet, or if somebody else's Secret has its name."""
    found = await secrets.read(world.client, Key(sample_set.metadata.namespace, runtime_name(sample_set)))
    return found.values.get(TOKEN_KEY, "") if found is not None and found.owner == sample_set.metadata.uid else ""


def own_object(world: World, sample_set: SampleSet, piece: Piece, name: str) -> Manifest | None:
    kind = KINDS[piece]
    found = world.stores[kind].get(Key(sample_set.metadata.namespace if kind.namespaced else "", name))
    return found if found is not None and owns(sample_set, found) else None


def runtimes_of(runtimes: Runtimes, sample_set: SampleSet, pods: list[Manifest]) -> Iterator[Runtime]:
    """Give the servers behind these pods, with what each said last."""
    for pod in pods:
        partition = partition_of(key_of(pod).name, runtime_name(sample_set))
        server = runtimes.heard(key_of_set(sample_set), key_of(pod).name)
        if partition is not None:
            yield runtime(pod, partition, word_of(server), trouble_of(server))


async def observe_originals(world: World, sample_set: SampleSet) -> dict[str, Manifest]:
    """Ask for what the original operator made for the set; it has none of the labels that are watched."""
    named = {
        Piece.STATEFUL_SET: runtime_name(sample_set),
        Piece.SERVICE: service_name(sample_set),
        Piece.CLAIM: sample_set.metadata.name,
        Piece.VOLUME: sample_set.metadata.name,
    }
    found = {}
    for piece, name in named.items():
        kind = KINDS[piece]
        key = Key(sample_set.metadata.namespace if kind.namespaced else "", name)
        with contextlib.suppress(errors.NotFoundError):
            manifest = await world.client.get(kind, key)
            if is_of_original(sample_set, manifest):
                found[piece.value] = manifest
    return found


async def observe_mounting(world: World, claim: Key, own: set[str]) -> list[Manifest]:
    """Ask for the pods of others that have the data: what they read would be in the caches after these were emptied.

    Pods outlive their job by a moment, and people have pods of their own; neither is watched.
    """
    listed = await world.client.list(Scope(PODS, claim.namespace))
    return [pod for pod in listed.items if uid_of(pod) not in own and has_mounted(pod, claim.name)]


def has_mounted(pod: Manifest, claim: str) -> bool:
    spec = pod["spec"]
    claims = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in spec.get("volumes") or ()]
    return bool(spec.get("nodeName")) and claim in claims


def has_finished(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in FINISHED


def pods_of(world: World, sample_set: SampleSet, stateful_set: Manifest | None, index: str) -> Iterator[Manifest]:
    """Give the pods of the set's own StatefulSet: anybody can put its label on another."""
    for pod in world.stores[PODS].find(index, str(key_of_set(sample_set))):
        owner = controller_of(pod)
        if stateful_set is not None and owner is not None and owner.get("uid") == uid_of(stateful_set):
            yield pod


def endpoints_of(pods: list[Manifest], token: str) -> dict[str, Endpoint]:
    found = {key_of(pod).name: (_url(pod), uid_of(pod)) for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    return {name: Endpoint(url, uid, token) for name, (url, uid) in found.items() if url}


def _url(pod: Manifest) -> str:
    """Go by number: it is this very pod, and the manager need not be where names of the cluster are known."""
    address = str((pod.get("status") or {}).get("podIP") or "")
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports") or []]
    port = next((port["containerPort"] for port in ports if port.get("name") == PORT_NAME), PORT)
    return f"http://{f'[{address}]' if ':' in address else address}:{port}" if address else ""


def cleaners_of(world: World, sample_set: SampleSet) -> Iterator[Manifest]:
    """Give the pods that were made for it and that its StatefulSet does not know of."""
    for pod in world.stores[PODS].find(SET, str(key_of_set(sample_set))):
        if controller_of(pod) is None and owns(sample_set, pod):
            yield pod


def _nodes(
    world: World, sample_set: SampleSet, pods: list[Manifest], originals: Mapping[str, Manifest]
) -> dict[str, Manifest]:
    store, key, before = world.stores[NODES], key_of_set(sample_set), sample_set.status or SampleSetStatus()
    labels = [names.sampleset_node_label(*key), *([names.sampleset_label(key.name)] if originals else [])]
    labelled = {key_of(node).name: node for label in labels for node in store.find(LABELLED, label)}
    used = {str(pod["spec"].get("nodeName") or "") for pod in pods}
    used |= {*before.left_nodes, *(found.node for found in before.nodes)}
    return labelled | {name: node for name in used if (node := store.get(Key("", name))) is not None}
