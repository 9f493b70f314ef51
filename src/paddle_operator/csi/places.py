"""Where the plugin keeps what it has, on a node; pure."""

from dataclasses import dataclass
from pathlib import Path

from paddle_operator.api.names import CSI_DRIVER


@dataclass(frozen=True)
class Places:
    """`kubelet` is the kubelet's directory, `state` a small file system in memory that the plugin mounts itself."""

    kubelet: Path = Path("/var/lib/kubelet")
    state: Path = Path("/run/juicefs-csi")

    @property
    def plugin(self) -> Path:
        return self.kubelet / "plugins" / CSI_DRIVER

    @property
    def socket(self) -> Path:
        return self.plugin / "csi.sock"

    @property
    def registration(self) -> Path:
        return self.kubelet / "plugins_registry" / f"{CSI_DRIVER}-reg.sock"

    @property
    def program(self) -> Path:
        """JuiceFS itself, where the node can run it when our container is gone."""
        return self.plugin / "bin/juicefs"

    @property
    def pods(self) -> Path:
        return self.kubelet / "pods"

    @property
    def lock(self) -> Path:
        return self.plugin / "lock"

    @property
    def resolver(self) -> Path:
        return self.state / "resolv.conf"

    @property
    def records(self) -> Path:
        return self.state / "volumes"

    @property
    def mounts(self) -> Path:
        return self.state / "mnt"

    def log(self, volume: str) -> Path:
        return self.plugin / "logs" / f"{volume}.log"

    def record(self, volume: str) -> Path:
        return self.records / f"{volume}.json"

    def stage(self, volume: str) -> Path:
        """Say where the one mount of a volume on this node is, of which each pod gets a copy."""
        return self.mounts / volume
