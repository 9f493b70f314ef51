"""Where everything lies: one directory of state per cluster, one cache for all of them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from localkube import errors

NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
# A unix socket's path holds 107 bytes; ours end in /nodes/<name>/control.sock below the cluster's directory.
LONGEST_STATE = 40
REMOVED = ".removed"


def draft_of(path: Path) -> Path:
    """Name what a file is until it is whole."""
    return path.with_name(path.name + ".tmp")


@dataclass(frozen=True)
class NodePaths:
    root: Path

    @property
    def disk(self) -> Path:
        return self.root / "disk.img"

    @property
    def mountpoint(self) -> Path:
        return self.root / "root"

    @property
    def settings(self) -> Path:
        """Seen inside the node as /etc/localkube."""
        return self.root / "settings"

    @property
    def logs(self) -> Path:
        """Seen inside the node as /var/log/localkube."""
        return self.root / "logs"

    @property
    def socket(self) -> Path:
        return self.root / "control.sock"


@dataclass(frozen=True)
class ClusterPaths:
    name: str
    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "cluster.json"

    @property
    def is_foreign(self) -> bool:
        """Tell whether something else has the place. Ours has its spec; before it is written, at most its draft."""
        try:
            found = {entry.name for entry in self.root.iterdir()}
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            return True
        return not found <= {draft_of(self.spec).name} and not self.spec.exists()

    @property
    def lock(self) -> Path:
        """Beside the directory, so that `down` can remove the directory while it holds the lock."""
        return self.root.with_name(f".{self.name}.lock")

    @property
    def removed(self) -> Path:
        """What was the directory until `down` began to remove it: no longer a cluster, and never half of one."""
        return self.root.with_name(f".{self.name}{REMOVED}")

    @property
    def dirty(self) -> Path:
        """There while tests use the cluster: when they were killed, nobody knows what they left in it."""
        return self.root / "in-test"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def settings(self) -> Path:
        return self.root / "settings"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def etcd(self) -> Path:
        return self.root / "etcd"

    @property
    def layers(self) -> Path:
        """Layers of images, unpacked, a directory each; the nodes see them as /opt/localkube/layers."""
        return self.root / "layers"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def socket(self) -> Path:
        return self.root / "control.sock"

    def node(self, name: str) -> NodePaths:
        return NodePaths(self.root / "nodes" / name)


@dataclass(frozen=True)
class Home:
    state: Path
    cache: Path

    @classmethod
    def from_environment(cls) -> "Home":
        state = Path(os.environ.get("LOCALKUBE_HOME") or "/var/lib/localkube").absolute()
        if len(str(state)) > LONGEST_STATE:
            raise errors.LocalkubeError(
                f"LOCALKUBE_HOME is longer than {LONGEST_STATE} characters: sockets need it short"
            )
        caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return cls(state=state, cache=Path(os.environ.get("LOCALKUBE_CACHE") or f"{caches}/localkube").absolute())

    def cluster(self, name: str) -> ClusterPaths:
        if not NAME.fullmatch(name):
            raise errors.LocalkubeError(
                f"{name!r} cannot name a cluster: use at most 32 lower-case letters, digits and dashes, a letter first"
            )
        return ClusterPaths(name, self.state / name)

    def clusters(self) -> list[ClusterPaths]:
        """Every cluster that left a trace, whole or not; what else lies there is not ours."""
        if not self.state.is_dir():
            return []
        entries = (entry.name for entry in self.state.iterdir() if entry.is_dir())
        names = {
            entry.removeprefix(".").removesuffix(REMOVED) if entry.endswith(REMOVED) else entry for entry in entries
        }
        found = [self.cluster(name) for name in sorted(names) if NAME.fullmatch(name)]
        return [paths for paths in found if not paths.is_foreign]
