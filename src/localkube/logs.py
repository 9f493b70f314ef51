"""What the components wrote, found by their names and read from the end."""

import collections
import time
from collections.abc import Iterator
from pathlib import Path

from localkube import controlplane, nodeplane
from localkube.cluster import Cluster

POLL = 0.2


def path_of(cluster: Cluster, component: str) -> Path | None:
    """Give a component's log; None when nothing has that name."""
    node_names = {node.name for node in cluster.spec.nodes}
    if component in {"cluster", *controlplane.COMPONENTS, *node_names}:
        return cluster.paths.logs / f"{component}.log"
    node, _, program = component.partition("/")
    if node in node_names and program in nodeplane.COMPONENTS:
        return cluster.paths.node(node).logs / f"{program}.log"
    return None


def lines(path: Path, tail: int, *, follow: bool = False) -> Iterator[str]:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with path.open(errors="replace") as file:
        yield from (line.rstrip("\n") for line in collections.deque(file, maxlen=tail))
        while follow:
            if line := file.readline():
                yield line.rstrip("\n")
            else:
                time.sleep(POLL)
