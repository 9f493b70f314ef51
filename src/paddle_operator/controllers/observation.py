"""What is seen of a PaddleJob and around it: in the caches and, where they do not tell, by asking the API server."""

from collections.abc import Iterable

from paddle_operator.api.manifest import Key, Manifest, annotations_of, uid_of
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.control.controller import World, key_of_owner
from paddle_operator.control.store import by_owner
from paddle_operator.controllers.jobplan import KINDS
from paddle_operator.controllers.kinds import NODES, PADDLE_JOBS
from paddle_operator.controllers.memory import Memory
from paddle_operator.controllers.supplies import observe_cache, observe_sample_set
from paddle_operator.desired.paddlejob.hostport import recorded_port
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.desired.training.decision import GANGS, Piece
from paddle_operator.desired.training.observedpod import ObservedPod, observed_pod
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS

OWNER, NAMESAKE = "owner", "namesake"


OWNERS = key_of_owner(PADDLE_JOBS)


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
        gangs_served=observe_gangs_served(world, settings.scheduling),
        sample_set=observe_sample_set(world, job, job.spec.sample_set_ref, memory),
        cache=observe_cache(world, job, job.spec.cache_backend, memory),
        taken_ports=observe_ports(world, job, memory) if job.spec.intranet is Intranet.HOST else frozenset(),
    )


def observe_gangs_served(world: World, scheduling: Scheduling) -> bool:
    """Tell whether the cluster knows the kind by which jobs are scheduled all or none, where they are."""
    piece = GANGS.get(scheduling)
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
