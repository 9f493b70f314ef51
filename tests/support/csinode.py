"""A node in small: mounts of its own, the kubelet's directories, containers, and our plugin as a program."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import grpc

from localkube.waiting import wait_until
from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.csi import launch, mounttable
from paddle_operator.csi.messages import (
    Empty,
    Mode,
    MountVolume,
    NodePublishVolumeRequest,
    NodeUnpublishVolumeRequest,
    VolumeCapability,
)
from paddle_operator.csi.namespaces import Namespace
from paddle_operator.csi.places import Places
from paddle_operator.csi.plugin import ANSWERS_WITHIN
from paddle_operator.csi.wire import Record, decode, encode
from support import juicefs

SOURCE = Path(__file__).parents[2] / "src"
MANY_WRITERS = 5
PASSWORD = "planted-secret-password"  # noqa: S105 the one that is looked for
KEY = "planted-secret-key"
Answer = TypeVar("Answer", bound=Record)


@dataclass(frozen=True)
class Volume:
    """One that no other test has: its handle, and secrets for it."""

    redis: juicefs.Redis
    directory: Path
    database: int

    @property
    def handle(self) -> str:
        return f"vol-{self.database}"

    def secret(self, **changed: str) -> dict[str, str]:
        values = {"name": self.handle, "storage": "file", "bucket": f"{self.directory}/bucket/"}
        values |= {"metaurl": f"{self.redis.address(self.database)}\n", "access-key": "someone", "secret-key": KEY}
        return {**values, **changed}


@dataclass(frozen=True)
class Container:
    """A process with mounts of its own, and a volume at `place` in them."""

    process: "subprocess.Popen[bytes]"
    place: Path

    def run(self, *argv: str) -> str:
        return inside(self.process.pid, *argv)

    def read(self, name: str) -> str:
        return self.run("cat", str(self.place / name))

    def write(self, name: str, text: str) -> None:
        inside(self.process.pid, "tee", str(self.place / name), text=text)

    def sees(self, name: str, text: str) -> bool:
        try:
            return self.read(name) == text
        except subprocess.CalledProcessError:
            return False

    def await_text(self, name: str, text: str) -> None:
        wait_until(lambda: self.sees(name, text), 90, f"{self.place} is not mended")

    def refuses(self, name: str) -> bool:
        try:
            self.write(name, "x")
        except subprocess.CalledProcessError as error:
            return "Read-only file system" in error.stderr
        return False

    def layers(self) -> list[mounttable.Mount]:
        return mounttable.layers(Namespace(self.process.pid).mounts(), self.place)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Node:
    """All that the test starts ends with it."""

    root: Path
    injects: bool = True
    answers_within: float = ANSWERS_WITHIN
    process: "subprocess.Popen[bytes] | None" = None
    plugin: "subprocess.Popen[bytes] | None" = None
    containers: list[Container] = field(default_factory=list)
    published: list[tuple[str, str]] = field(default_factory=list)
    containers_ever: int = 0

    @property
    def places(self) -> Places:
        return Places(self.root / "kubelet", self.root / "state")

    @property
    def log(self) -> Path:
        return self.root / "plugin.log"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @contextlib.contextmanager
    def running(self) -> Iterator["Node"]:
        try:
            self.start()
            yield self
        finally:
            self.stop()
            remove_groups()

    def start(self) -> None:
        self.root.mkdir(exist_ok=True)
        self.process = subprocess.Popen(["unshare", "--mount", "--", "sleep", "infinity"])
        wait_until(lambda: Path(f"/proc/{self.pid}/comm").read_text() == "sleep\n", 90, "not begun", 0.01)
        inside(self.pid, "mount", "--make-rshared", "/")

    def start_plugin(self) -> None:
        """Return when the kubelet would find it; one that runs stays."""
        if self.plugin is not None and self.plugin.poll() is None:
            return
        words = [str(self.places.kubelet), str(self.places.state), str(self.pid), str(juicefs.PROGRAM)]
        words += ["inject" if self.injects else "no-inject", str(self.answers_within)]
        with self.log.open("ab") as log:
            environment = {**os.environ, "PYTHONPATH": f"{SOURCE}:{Path(__file__).parents[1]}"}
            argv = [sys.executable, "-m", "support.csiprogram", *words]
            self.plugin = subprocess.Popen(argv, stdout=log, stderr=log, env=environment)
        wait_until(self.places.registration.exists, 90, f"the plugin does not start: {self.log}", 0.02)

    def stop_plugin(self) -> int:
        """Ask it to stop, and give what it ended with."""
        assert self.plugin is not None
        self.plugin.send_signal(signal.SIGTERM)
        return self.plugin.wait(20)

    def kill_plugin(self) -> None:
        """End it as a crash does; the socket that it leaves is not taken for its successor's."""
        assert self.plugin is not None
        self.plugin.kill()
        self.plugin.wait()
        self.places.registration.unlink(missing_ok=True)

    def clear(self) -> None:
        """Take the volumes from all pods, and end their containers."""
        self.start_plugin()
        while self.containers:
            self.containers.pop().end()
        while self.published:
            self.unpublish(*self.published.pop())

    def stop(self) -> None:
        for container in self.containers:
            container.end()
        if self.plugin is not None:
            self.stop_plugin()
        for client in self.clients():
            os.kill(client, signal.SIGKILL)
        wait_until(lambda: not self.clients(), 90, "clients do not end", 0.02)
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def call(self, method: str, request: Record, answer: type[Answer], socket: Path | None = None) -> Answer:
        with grpc.insecure_channel(f"unix://{socket or self.places.socket}") as channel:
            ask = channel.unary_unary(f"/{method}", encode, lambda data: decode(answer, data))
            answered: Answer = ask(request, timeout=60)
        return answered

    def target(self, pod: str, volume: str) -> Path:
        return self.places.pods / pod / "volumes/kubernetes.io~csi" / volume / "mount"

    def note(self, pod: str, volume: str) -> Path:
        """Say where the kubelet writes down what is mounted at a pod's place."""
        return self.target(pod, volume).with_name("vol_data.json")

    def publish(
        self, pod: str, volume: str, secret: dict[str, str], *, readonly: bool = False, options: str = ""
    ) -> Path:
        """Do as the kubelet does: write down what is mounted where, then ask; the machine's own cache is not used."""
        target = self.target(pod, volume)
        target.parent.mkdir(parents=True, exist_ok=True)
        written = {"driverName": CSI_DRIVER, "volumeHandle": volume, "specVolID": volume}
        self.note(pod, volume).write_text(json.dumps(written))
        self.published.append((pod, volume))
        request = NodePublishVolumeRequest(
            volume_id=volume,
            target_path=str(target),
            volume_capability=VolumeCapability(MountVolume("juicefs"), Mode(MANY_WRITERS)),
            readonly=readonly,
            secrets=secret,
            volume_context={"mountOptions": options or f"cache-dir={self.root}/cache"},
        )
        self.call("csi.v1.Node/NodePublishVolume", request, Empty)
        return target

    def unpublish(self, pod: str, volume: str) -> None:
        target = self.target(pod, volume)
        self.call("csi.v1.Node/NodeUnpublishVolume", NodeUnpublishVolumeRequest(volume, str(target)), Empty)
        self.note(pod, volume).unlink(missing_ok=True)

    def container(self, target: Path, *, subpath: str = "", propagation: str = "private") -> Container:
        """Start one as a runtime does: it has a copy of the volume's mount, and no other of JuiceFS."""
        place = self.root / f"container-{self.containers_ever}"
        self.containers_ever += 1
        place.mkdir()
        argv = [
            "nsenter",
            f"--target={self.pid}",
            "--mount",
            "--",
            "unshare",
            "--mount",
            f"--propagation={propagation}",
        ]
        process = subprocess.Popen([*argv, "--", "sleep", "infinity"])
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", 90, "not begun", 0.01)
        inside(process.pid, "mount", "--bind", str(target / subpath), str(place))
        for mount in reversed(Namespace(process.pid).mounts()):
            if mount.kind == mounttable.JUICEFS and mount.place != place:
                inside(process.pid, "umount", "--lazy", str(mount.place))
        self.containers.append(Container(process, place))
        return self.containers[-1]

    def layers(self, place: Path) -> list[mounttable.Mount]:
        return mounttable.layers(Namespace(self.pid).mounts(), place)

    def is_mended(self, target: Path, volume: str) -> bool:
        """Tell whether what is on top at a pod's place is of the client that serves the volume now."""
        stages, copies = self.layers(self.places.stage(volume)), self.layers(target)
        return len(stages) == 1 and bool(copies) and copies[-1].device == stages[0].device

    def is_served(self, volume: str) -> bool:
        """Tell whether a volume's client answers, and all pods of the volume have its mount."""
        stage = self.places.stage(volume)
        targets = [self.target(*known) for known in self.published if known[1] == volume]
        return (
            all(self.is_mended(target, volume) for target in targets)
            and subprocess.run(
                ["nsenter", f"--target={self.pid}", "--mount", "stat", f"{stage}/.stats"],
                capture_output=True,
                check=False,
            ).returncode
            == 0
        )

    def clients(self, volume: str = "") -> list[int]:
        """Find JuiceFS' processes by where they mount."""
        wanted = str(self.places.mounts / volume)
        return [process for process, words in command_lines() if words and words[-1].startswith(wanted)]

    def words_of(self, address: str) -> list[int]:
        """Find JuiceFS' processes by a part of a word of theirs."""
        return [process for process, words in command_lines() if any(address in word for word in words)]

    def kill_client(self, volume: str) -> None:
        (client,) = self.clients(volume)
        os.kill(client, signal.SIGKILL)


def command_lines() -> list[tuple[int, list[str]]]:
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [(process, words) for process in processes if (words := command_line(process)) is not None]


def command_line(process: int) -> list[str] | None:
    """Give a process' words; None for one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return None


def inside(process: int, *argv: str, text: str | None = None) -> str:
    words = ["nsenter", f"--target={process}", "--mount", "--", *argv]
    return subprocess.run(words, input=text, capture_output=True, text=True, check=True, timeout=20).stdout


def remove_groups() -> None:
    """Take away the control groups that the clients leave, unless another run has its own there."""
    for group in launch.groups(Path("/proc/self/mounts").read_text()):
        with contextlib.suppress(OSError):
            group.rmdir()
