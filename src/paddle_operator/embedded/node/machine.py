"""What all pods of this machine share: the way to the API, the network, volumes, names, and where things are."""

from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.api.manifest import Manifest, key_of, uid_of
from paddle_operator.embedded.node.hosts import HostsFiles
from paddle_operator.embedded.node.network import Network
from paddle_operator.embedded.node.programs import Programs
from paddle_operator.embedded.node.volumes import Volumes
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder

NAME = "machine"


@dataclass(frozen=True)
class Machine:
    client: Client
    recorder: Recorder
    network: Network
    volumes: Volumes
    programs: Programs
    logs: Path
    outside: Path
    hosts: HostsFiles = field(default_factory=HostsFiles)

    def directory(self, pod: Manifest) -> Path:
        """Give a directory for what only this pod has."""
        return self.volumes.disk / uid_of(pod)

    def log(self, pod: Manifest, container: str, run: int) -> Path:
        key = key_of(pod)
        return self.logs / key.namespace / key.name / uid_of(pod) / container / f"{run}.log"
