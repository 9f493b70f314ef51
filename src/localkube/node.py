"""One node of a cluster: its settings on disk, its processes, its life and death."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from localkube import cgroups, commands, errors, kubeconfig, nodeplane, pki, sizes, spec
from localkube.init import launch
from localkube.init.control import Control, Program
from localkube.paths import ClusterPaths, NodePaths
from localkube.spec import ClusterSpec, NodeSpec
from localkube.waiting import wait_until

GONE_TIMEOUT = 10.0
UP_TIMEOUT = 60.0


@dataclass(frozen=True)
class Node:
    cluster: ClusterSpec
    spec: NodeSpec
    cluster_paths: ClusterPaths
    cluster_control: Control
    cni: Path

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def paths(self) -> NodePaths:
        return self.cluster_paths.node(self.spec.name)

    @property
    def control(self) -> Control:
        return Control(self.paths.socket, f"node {self.name}")

    def write_settings(self) -> None:
        settings, certificates = self.paths.settings, self.cluster_paths.pki
        for directory in (settings / "cni", self.paths.logs):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        pki.ensure(certificates, nodeplane.subjects(self.spec))
        for name, text in nodeplane.files(self.cluster, self.spec).items():
            spec.write_atomically(settings / name, text)
        own = f"kubelet-{self.name}"
        spec.write_atomically(settings / "ca.crt", pki.certificate(certificates, pki.AUTHORITY).read_text())
        spec.write_atomically(settings / "kubelet.crt", pki.certificate(certificates, own).read_text())
        spec.write_atomically(settings / "kubelet.key", pki.key(certificates, own).read_text(), 0o600)
        for user, file in ((own, "kubelet"), ("kube-proxy", "kube-proxy")):
            kubeconfig.write(
                settings / f"{file}.kubeconfig", self.cluster.name, self.cluster.server, certificates, user
            )

    def _ensure_disk(self) -> None:
        """Make a sparse file, whole under its name or not there; no journal, since nothing outlives the machine."""
        if self.paths.disk.exists():
            return
        draft = self.paths.disk.with_suffix(".img.tmp")
        draft.unlink(missing_ok=True)
        commands.run(["truncate", "--size", str(sizes.parse(self.cluster.disk)), str(draft)])
        options = ["-O", "^has_journal", "-m", "0", "-E", "lazy_itable_init=1,nodiscard"]
        commands.run(["mkfs.ext4", "-q", *options, str(draft)])
        draft.rename(self.paths.disk)

    def start(self) -> None:
        """Start the node where it is not running, and in it what is not running."""
        self.boot()
        for program in nodeplane.programs(self.spec):
            self.control.start(program)

    def boot(self) -> None:
        """Have its disk and network, without a program in it."""
        if not self.control.alive():
            self._wait_gone()
            self._ensure_disk()
            groups = cgroups.create(self.cluster.ident, self.name)
            inner = cgroups.create_inner(self.cluster.ident, self.name)
            arguments = [str(self.cluster_paths.root), self.name, str(self.cni)]
            self.cluster_control.start(
                Program(
                    name=self.name,
                    argv=launch.node(arguments, groups, inner),
                    environment=launch.environment(),
                    log=str(self.cluster_paths.logs / f"{self.name}.log"),
                    restart=False,
                )
            )
        self._wait()

    def _wait_gone(self) -> None:
        """Let a predecessor that no longer answers end completely: its link and its disk are the same."""
        otherwise = f"node {self.name} neither answers nor ends: `localkube node kill {self.name}`"
        wait_until(lambda: not self._has_process(), GONE_TIMEOUT, otherwise, pause=0.02)

    def _has_process(self) -> bool:
        state = self.cluster_control.status().get(self.name)
        return state is not None and state.pid is not None

    def _wait(self) -> None:
        """Let it have its disk and network, for as long as its first process lives."""
        log = self.cluster_paths.logs / f"{self.name}.log"
        otherwise = f"node {self.name} did not come up; see {log}"
        wait_until(lambda: self.control.answers() or not self._has_process(), UP_TIMEOUT, otherwise, pause=0.02)
        if not self.control.answers():
            raise errors.LocalkubeError(f"{otherwise}: {launch.last_words(log)}")

    def stop(self) -> None:
        """As a machine is shut down: its programs are asked to end, then everything in it goes."""
        self.control.shut_down()
        self._wait_gone()

    def kill(self) -> None:
        """As a machine that loses its power: the kernel ends everything with process 1."""
        os.kill(self.control.pid(), signal.SIGKILL)
        self._wait_gone()
