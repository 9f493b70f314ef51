"""How a cluster is: its programs, its nodes, what it uses; gathered once, shown as a table or as JSON."""

import time
from dataclasses import dataclass

from localkube import cgroups, controlplane, errors, nodeplane
from localkube.cluster import Cluster
from localkube.faults import Link
from localkube.init.control import Control, State

SAMPLE = 1.0


@dataclass(frozen=True)
class ProgramStatus:
    name: str
    state: str
    restarts: int
    seconds: float


@dataclass(frozen=True)
class NodeStatus:
    name: str
    address: str
    ready: bool
    link: str
    programs: tuple[ProgramStatus, ...]


@dataclass(frozen=True)
class ClusterStatus:
    name: str
    server: str
    kubeconfig: str
    healthy: bool
    programs: tuple[ProgramStatus, ...]
    nodes: tuple[NodeStatus, ...]
    memory_bytes: int
    cpu_cores: float


def observe(cluster: Cluster) -> ClusterStatus:
    cpu, memory = cgroups.usage(cluster.spec.ident)
    begun = time.monotonic()
    nodes = _nodes(cluster)
    time.sleep(max(0.0, SAMPLE - (time.monotonic() - begun)))
    later, _ = cgroups.usage(cluster.spec.ident)
    return ClusterStatus(
        name=cluster.spec.name,
        server=cluster.spec.server,
        kubeconfig=str(cluster.paths.kubeconfig),
        healthy=cluster.healthy(),
        programs=_programs(cluster.control, controlplane.COMPONENTS),
        nodes=nodes,
        memory_bytes=memory,
        cpu_cores=(later - cpu) / (time.monotonic() - begun),
    )


def _nodes(cluster: Cluster) -> tuple[NodeStatus, ...]:
    try:
        ready = cluster.api.ready_nodes() if cluster.control.alive() else set()
    except errors.LocalkubeError:
        ready = set()
    return tuple(
        NodeStatus(
            name=node.name,
            address=node.spec.address,
            ready=node.name in ready,
            link=Link(cluster, node).describe() if node.control.alive() else "off",
            programs=_programs(node.control, nodeplane.COMPONENTS),
        )
        for node in cluster.nodes
    )


def _programs(control: Control, names: tuple[str, ...]) -> tuple[ProgramStatus, ...]:
    try:
        known = control.status()
    except errors.NotRunningError:
        known = {}
    return tuple(_program(name, known.get(name)) for name in names)


def _program(name: str, state: State | None) -> ProgramStatus:
    if state is None:
        return ProgramStatus(name, "not there", 0, 0.0)
    if state.pid is not None:
        return ProgramStatus(name, "running", state.restarts, state.seconds)
    return ProgramStatus(name, "restarting" if state.wanted else "stopped", state.restarts, 0.0)
