"""What is seen of a PaddleJob and around it: in the caches and, where they do not tell, by asking the API server."""

from collections.abc import Iterable

import msgspec

from paddle_operator.api.definition import Kind as Definition
from paddle_operator.api.manifest import Key, Manifest, annotations_of, uid_of
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import World, key_of_owner
from paddle_operator.control.store import by_owner
from paddle_operator.controllers.memory import Memory
from paddle_operator.desired.paddlejob.hostport import recorded_port
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.desired.training.decision import GANGS, Piece
from paddle_operator.desired.training.observedpod import ObservedPod, observed_pod
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind

OWNER, NAMESAKE = "owner", "namesake"


def kind_of(struct: type[Definition]) -> Kind:
    definition = struct.definition
    return Kind(definition.group, definition.version, definition.plural, definition.kind)


PADDLE_JOBS = kind_of(PaddleJob)
SAMPLE_SETS = kind_of(SampleSet)
NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
OWNERS = key_of_owner(PADDLE_JOBS)
KINDS = {
    Piece.CONFIG_MAP: Kind("", "v1", "configmaps", "ConfigMap"),
    Piece.SERVICE: Kind("", "v1", "services", "Service"),
    Piece.POD: PODS,
    Piece.POD_GROUP: Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
    Piece.WORKLOAD: Kind("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"),
}


def by_namesake(manifest: Manifest) -> Iterable[str]:
    """Index by the job's name: also what an earlier job of that name has left behind."""
    return (str(key) for key in OWNERS(manifest))


def observe(world: World, job: PaddleJob, settings: Settings, memory: Memory) -> Snapshot:
    def of(piece: Piece | None) -> tuple[Manifest, ...]:
        store = world.stores.get(KINDS[piece]) if piece else None
        return tuple(store.find(OWNER, job.metadata.uid)) if store else ()

    namesake = str(Key(job.metadata.namespace, job.metadata.name))
    pods = [observed_pod(manifest) for manifest in world.stores[PODS].find(NAMESAKE, namesake)]
    return Snapshot(
        job=job,
        now=world.now().replace(microsecond=0),
        settings=settings,
        pods=tuple(pod for pod in pods if uid_of_owner(pod) == job.metadata.uid),
        leftovers=tuple(pod for pod in pods if uid_of_owner(pod) != job.metadata.uid),
        services=of(Piece.SERVICE),
        config_maps=of(Piece.CONFIG_MAP),
        gangs=of(GANGS.get(settings.scheduling)),
        gangs_served=observe_gangs_served(world, settings),
        sample_set=observe_sample_set(world, job, memory),
        taken_ports=observe_ports(world, job, memory) if job.spec.intranet is Intranet.HOST else frozenset(),
    )


def observe_gangs_served(world: World, settings: Settings) -> bool:
    """Tell whether the cluster knows the kind by which jobs are scheduled all or none, where they are."""
    piece = GANGS.get(settings.scheduling)
    return piece is None or world.serves(KINDS[piece])


def uid_of_owner(pod: ObservedPod) -> str:
    return "".join(by_owner(pod.manifest))


async def observe_silent_nodes(world: World, nodes: Iterable[str]) -> frozenset[str]:
    """Name those of the nodes that do not answer."""
    return frozenset([node for node in set(nodes) if await is_silent(world, node)])


async def is_silent(world: World, node: str) -> bool:
    try:
        found = await world.client.get(NODES, Key("", node))
    except errors.NotFoundError:
        return True
    except errors.ForbiddenError:
        return False  # who may look at one namespace only is not told
    conditions = (found.get("status") or {}).get("conditions") or []
    return not any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def observe_sample_set(world: World, job: PaddleJob, memory: Memory) -> SampleSet | None:
    if job.spec.sample_set_ref is None:
        return None
    wanted = Key(job.metadata.namespace, job.spec.sample_set_ref.name)
    memory.reads(wanted, Key(job.metadata.namespace, job.metadata.name))
    found = world.stores[SAMPLE_SETS].get(wanted)
    if found is None:
        return None
    try:
        return msgspec.convert({**found, **SAMPLE_SETS.identity}, SampleSet)
    except msgspec.ValidationError:
        return None  # its own controller says what is wrong with it


def observe_ports(world: World, job: PaddleJob, memory: Memory) -> frozenset[int]:
    """Give the host ports of all other jobs that have not ended."""
    going_on = (
        manifest
        for manifest in world.stores[PADDLE_JOBS]
        if (manifest.get("status") or {}).get("phase") not in ENDED and uid_of(manifest) != job.metadata.uid
    )
    recorded = (recorded_port(annotations_of(manifest)) for manifest in going_on)
    promised = memory.promised(Key(job.metadata.namespace, job.metadata.name))
    return promised.union(port for port in recorded if port is not None)
