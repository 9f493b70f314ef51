"""Things that go wrong on demand: a slow or cut link, a full disk, a program that dies."""

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from localkube import controlplane, errors, nodeplane
from localkube.cluster import Cluster
from localkube.init.control import Control, Program
from localkube.node import Node

RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)bit")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
SLOWEST = 8_000
FILLER = PurePosixPath("/var/lib/localkube-filler")


@dataclass(frozen=True)
class Link:
    """The cable between a node and the others. A node that is started again gets a new one."""

    cluster: Cluster
    node: Node

    def limit(self, rate: str) -> None:
        """Hold both directions to a rate such as 50mbit."""
        for control, device in self._ends():
            words = ["root", "tbf", "rate", rate, "burst", str(burst_of(rate)), "latency", "50ms"]
            control.run_inside(["tc", "qdisc", "replace", "dev", device, *words])

    def cut(self) -> None:
        self._set("down")

    def restore(self) -> None:
        """Undo both: whole again and at full speed."""
        self._set("up")
        for control, device in self._ends():
            if "tbf" in control.run_inside(["tc", "qdisc", "show", "dev", device]):
                control.run_inside(["tc", "qdisc", "delete", "dev", device, "root"])

    def describe(self) -> str:
        shown = json.loads(self.cluster.control.run_inside(["ip", "-json", "link", "show", "dev", self.node.name]))
        if "UP" not in shown[0]["flags"]:
            return "cut"
        limited = self.cluster.control.run_inside(["tc", "qdisc", "show", "dev", self.node.name])
        found = re.search(r"rate (\S+)", limited)
        return found.group(1).lower() if found else "full speed"

    def _set(self, state: str) -> None:
        self.cluster.control.run_inside(["ip", "link", "set", "dev", self.node.name, state])

    def _ends(self) -> list[tuple[Control, str]]:
        return [(self.cluster.control, self.node.name), (self.node.control, "eth0")]


def burst_of(rate: str) -> int:
    """Give a bucket of ten milliseconds, and never less than a few packets."""
    match = RATE.fullmatch(rate)
    if match is None or float(match[1]) * UNITS[match[2]] < SLOWEST:
        raise errors.LocalkubeError(
            f"{rate!r} is not a rate: write 50mbit, 800kbit or 1.5gbit, at least {SLOWEST // 1000}kbit"
        )
    return max(16_000, round(float(match[1]) * UNITS[match[2]] / 8 / 100))


def fill_disk(node: Node, leave: int) -> int:
    """Take the node's disk but for `leave` bytes, and return how many were taken; this machine's disk is spared."""
    empty_disk(node)
    said = node.control.run_inside(["stat", "--file-system", "--format=%a %S", "/"])
    blocks, size = (int(word) for word in said.split())
    wanted = blocks * size - leave
    if wanted <= 0:
        raise errors.LocalkubeError(f"{node.name} has only {blocks * size} bytes free: nothing to take")
    node.control.run_inside(["fallocate", "--length", str(wanted), str(FILLER)])
    return wanted


def empty_disk(node: Node) -> None:
    node.control.run_inside(["rm", "--force", str(FILLER)])


@dataclass(frozen=True)
class Component:
    """A program by name: `kube-apiserver`, or `node-1/kubelet`."""

    control: Control
    program: Program

    def stop(self) -> None:
        self.control.stop(self.program.name)

    def start(self) -> None:
        self.control.start(self.program)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """Its supervisor starts it again, as on a real machine."""
        self.control.kill(self.program.name)


def component(cluster: Cluster, name: str) -> Component:
    node_name, _, program = name.rpartition("/")
    control = cluster.node(node_name).control if node_name else cluster.control
    programs = nodeplane.programs(cluster.spec.node(node_name)) if node_name else _control_plane(cluster)
    for candidate in programs:
        if candidate.name == program:
            return Component(control, candidate)
    raise errors.LocalkubeError(f"there is no component {name}; there are {', '.join(component_names(cluster))}")


def _control_plane(cluster: Cluster) -> list[Program]:
    return controlplane.programs(cluster.spec, cluster.paths)


def component_names(cluster: Cluster) -> list[str]:
    return [
        *controlplane.COMPONENTS,
        *(f"{node.name}/{program}" for node in cluster.spec.nodes for program in nodeplane.COMPONENTS),
    ]
