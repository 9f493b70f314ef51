"""What a cluster is asked to be: written before anything is made, so that `down` always knows what to look for."""

import dataclasses
import hashlib
import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path

from localkube import errors
from localkube.paths import draft_of

LAN_PREFIX = 24
NODE_LIMIT = 32


@dataclass(frozen=True)
class NodeSpec:
    name: str
    address: str
    pod_range: str


@dataclass(frozen=True)
class ClusterSpec:
    """A cluster owns one /16: nodes in its first /24, pods in its second quarter, services in its second half."""

    name: str
    ident: str
    block: str
    disk: str
    binaries: str
    revision: str
    feature_gates: str
    runtime_config: str
    nodes: tuple[NodeSpec, ...]

    def _address(self, offset: int) -> str:
        return str(ipaddress.ip_network(self.block)[offset])

    @property
    def gateway(self) -> str:
        """The control plane, the router between nodes, and the cluster's DNS."""
        return self._address(1)

    @property
    def host(self) -> str:
        """The address of this machine on the nodes' network."""
        return self._address(254)

    @property
    def lan(self) -> str:
        return f"{self._address(0)}/{LAN_PREFIX}"

    @property
    def pods(self) -> str:
        return f"{self._address(64 << 8)}/18"

    @property
    def services(self) -> str:
        return f"{self._address(128 << 8)}/17"

    @property
    def api_service(self) -> str:
        return self._address((128 << 8) + 1)

    @property
    def dns_service(self) -> str:
        return self._address((128 << 8) + 10)

    @property
    def server(self) -> str:
        return f"https://{self.gateway}:6443"

    @property
    def link(self) -> str:
        """The one network link this machine gets."""
        return f"lk{self.ident}"

    def node(self, name: str) -> NodeSpec:
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise errors.LocalkubeError(f"cluster {self.name} has no node {name}; it has {known}")

    def save(self, path: Path) -> None:
        write_atomically(path, json.dumps(dataclasses.asdict(self), indent=2) + "\n")


def ident_of(root: Path) -> str:
    """Name the kernel's objects after the state directory, so that equal names in two homes never meet."""
    return hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:8]


def nodes_of(block: str, count: int) -> tuple[NodeSpec, ...]:
    if not 1 <= count <= NODE_LIMIT:
        raise errors.LocalkubeError(f"a cluster has 1 to {NODE_LIMIT} nodes, not {count}")
    network = ipaddress.ip_network(block)
    return tuple(
        NodeSpec(
            name=f"node-{number}",
            address=str(network[10 + number]),
            pod_range=f"{network[(64 + number) << 8]}/24",
        )
        for number in range(1, count + 1)
    )


def block_of(path: Path) -> str | None:
    """Read the network alone, also from a file that another version wrote: nobody else may have it."""
    try:
        block = json.loads(path.read_text())["block"]
        return str(ipaddress.IPv4Network(block))
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None


def load(path: Path) -> ClusterSpec | None:
    """Return None where no cluster was ever begun, or by a version whose file we cannot read."""
    try:
        data = json.loads(path.read_text())
        return ClusterSpec(**{**data, "nodes": tuple(NodeSpec(**node) for node in data["nodes"])})
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    draft = draft_of(path)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
    draft.replace(path)
