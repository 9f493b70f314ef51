"""A cluster: brought up step by step from what is already there, and taken down without a trace."""

import contextlib
import functools
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from localkube import addons, cgroups, commands, controlplane, errors, kubeconfig, nodeplane, pki, spec
from localkube.api import Api
from localkube.images import load
from localkube.init import launch, network
from localkube.init.control import Control
from localkube.node import Node
from localkube.paths import ClusterPaths
from localkube.progress import Progress
from localkube.spec import ClusterSpec
from localkube.waiting import wait_until

API_TIMEOUT = 90.0
NODES_TIMEOUT = 90.0
QUICKLY = 0.02


@dataclass(frozen=True)
class Cluster:
    spec: ClusterSpec
    paths: ClusterPaths
    cni: Path

    @property
    def api(self) -> Api:
        return Api(self.spec.gateway, self.paths.pki)

    @property
    def control(self) -> Control:
        return Control(self.paths.socket, f"cluster {self.spec.name}")

    @property
    def nodes(self) -> list[Node]:
        return [self.node(node.name) for node in self.spec.nodes]

    def node(self, name: str) -> Node:
        return Node(self.spec, self.spec.node(name), self.paths, self.control, self.cni)

    def up(self, progress: Progress, descriptor: int) -> None:
        """Start what is missing; what runs is left alone."""
        with progress.step("certificates and settings"):
            self._write_settings()
        if not self.control.alive():
            with progress.step(f"network {self.spec.block}, reached from here by link {self.spec.link}"):
                self._start_first_process(descriptor)
        control_plane = progress.step("control plane: etcd, API server, controller manager, scheduler, DNS")
        with control_plane, ThreadPoolExecutor() as meanwhile:
            for program in controlplane.programs(self.spec, self.paths):
                self.control.start(program)
            booting = [meanwhile.submit(node.boot) for node in self.nodes]
            wait_until(
                self.api.ready, API_TIMEOUT, f"the API server is not ready; see {self.paths.logs}/kube-apiserver.log"
            )
            for manifest in addons.manifests(self.spec):
                self.api.apply(manifest)
            for boot in booting:
                boot.result()
        with progress.step(f"{len(self.nodes)} nodes Ready") as update:
            for node in self.nodes:
                node.start()
            self.wait_ready(update)

    def _write_settings(self) -> None:
        for directory in (self.paths.settings, self.paths.logs, self.paths.etcd, self.paths.layers):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        pki.ensure(self.paths.pki, controlplane.subjects(self.spec))
        for user in ("kube-controller-manager", "kube-scheduler", "coredns"):
            self._write_kubeconfig(self.paths.settings / f"{user}.kubeconfig", user)
        self._write_kubeconfig(self.paths.kubeconfig, "admin")
        spec.write_atomically(self.paths.settings / "Corefile", controlplane.corefile(self.spec, self.paths))
        for node in self.nodes:
            node.write_settings()

    def _write_kubeconfig(self, path: Path, user: str) -> None:
        kubeconfig.write(path, f"localkube-{self.spec.name}", self.spec.server, self.paths.pki, user)

    def _start_first_process(self, descriptor: int) -> None:
        cgroups.kill(self.spec.ident)  # a killed predecessor stops answering before its last program is gone
        groups = cgroups.create(self.spec.ident, cgroups.CONTROL)
        argv = launch.cluster([str(self.paths.root)], groups)
        log = self.paths.logs / "cluster.log"
        launch.detached(argv, launch.environment(), log, descriptor)
        try:
            self.control.wait()
        except errors.LocalkubeError as error:
            raise errors.LocalkubeError(f"{error}: {launch.last_words(log)}") from None

    def wait_ready(self, update: Callable[[str], None] = lambda _: None) -> None:
        names = {node.name for node in self.spec.nodes}

        def all_ready() -> bool:
            ready = self.api.ready_nodes() & names
            update(f"{len(ready)} of {len(names)}")
            return ready == names

        wait_until(
            all_ready, NODES_TIMEOUT, f"not every node became Ready; see `localkube status --name {self.spec.name}`"
        )

    def load(self, image: Path, progress: Progress) -> None:
        """Have an archive's image on every node."""
        load.load([node.control for node in self.nodes], image, self.paths.layers, progress)

    def healthy(self) -> bool:
        """Every program runs, the API server answers, every node is Ready."""
        try:
            return (
                self.control.runs(controlplane.COMPONENTS)
                and all(node.control.runs(nodeplane.COMPONENTS) for node in self.nodes)
                and self.api.ready()
                and self.api.ready_nodes() >= {node.name for node in self.spec.nodes}
            )
        except errors.LocalkubeError:
            return False


def take_down(paths: ClusterPaths) -> None:
    """Remove everything that may be there, whole or half made; each part is found by a name derived from the path."""
    ident = spec.ident_of(paths.root)
    cgroups.kill(ident)
    if commands.succeeds(["ip", "link", "show", f"lk{ident}"]):
        with contextlib.suppress(errors.CommandFailedError):  # the kernel may have been quicker
            network.ip("link", "delete", f"lk{ident}")
    network.release(ident)  # the other route went with the link
    detach_disks(paths)
    cgroups.remove(ident)
    sweep(paths)
    if paths.root.exists():
        paths.root.rename(paths.removed)
        sweep(paths)


def sweep(paths: ClusterPaths) -> None:
    """Remove what is a cluster's no more; a killed `down` may have left a part of it."""
    if paths.removed.exists():
        shutil.rmtree(paths.removed)


def detach_disks(paths: ClusterPaths) -> None:
    """Wait until the kernel lets go of the nodes' disks with their last mount; end what a kill left half done."""
    for disk in sorted(paths.root.glob("nodes/*/disk.img*")):
        wait_until(functools.partial(_detached, disk), 5.0, f"{disk} is still in use", QUICKLY)


def _detached(disk: Path) -> bool:
    question = ["losetup", "--noheadings", "--output", "NAME", "--associated", str(disk)]
    devices = commands.run(question).split()
    for device in devices:
        commands.succeeds(["losetup", "--detach", device])
    return not devices
