"""JuiceFS' own processes on the node: one makes a volume that is new, one serves each volume that is mounted."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import paddle_operator
from paddle_operator.csi import launch, mounts, mounttable, syscalls
from paddle_operator.csi.complaints import CANNOT_UPDATE, refusal
from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.mounttable import JUICEFS, Mount
from paddle_operator.csi.namespaces import PROC, Namespace
from paddle_operator.csi.options import formatting, mounting
from paddle_operator.csi.places import Places
from paddle_operator.csi.volumes import Volume
from paddle_operator.engines.juicefs.flags import Invocation, Version

LOG = logging.getLogger(__name__)
FORMAT_PATIENCE = 20.0
MOUNT_PATIENCE = 30.0
END_PATIENCE = 5.0
PAUSE = 0.05
LONGEST_LOG = 16 << 20
LAST_OF_LOG = 8192
SOURCE = "JuiceFS:"
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "PYTHONPATH": str(Path(paddle_operator.__file__).parents[1]),
}


@dataclass(frozen=True)
class Clients:
    node: Namespace
    places: Places
    version: Version

    def start(self, volume: Volume) -> Mount:
        """Have the volume, mount it where all copies come from, and give that mount."""
        try:
            self._format(volume)
            mounted = self._mount(volume)
            self.check(volume, mounted)
        except (RefusedError, OSError):
            self.stop(volume.directory)
            raise
        return mounted

    def check(self, volume: Volume, mounted: Mount) -> None:
        """See that this is the volume that was meant: a metadata engine holds one, whatever it is called."""
        name = mounted.source.removeprefix(SOURCE)
        if mounted.kind != JUICEFS or name != volume.name:
            words = f"the metadata engine in metaurl holds the volume {name!r}, not {volume.name!r}: correct the secret"
            raise RefusedError(Code.INVALID, words)
        self.node.run(lambda: syscalls.make_private(mounted.place))  # copies must not see what is put on one of them

    def stop(self, directory: str) -> None:
        """Take the mount away: its client ends by itself with the last copy."""
        stage = self.places.stage(directory)
        mounts.detach(self.node, stage)
        self.node.run(lambda: stage.rmdir() if stage.exists() else None)
        self.places.log(directory).unlink(missing_ok=True)

    def _format(self, volume: Volume) -> None:
        """Make the volume if it is new, and give it the secret's keys; one that was made in another way is left so.

        A secret that does not say where its data is to be is one of a volume that is there.
        """
        if not (volume.juicefs.storage and volume.juicefs.bucket):
            return
        code = self._formatted(volume, update=True)
        if code != 0 and CANNOT_UPDATE.search(self._last_words(volume)):
            code = self._formatted(volume, update=False)
        if code != 0:
            raise refusal("format", volume, self._last_words(volume), f"it ended with {code}")

    def _formatted(self, volume: Volume, *, update: bool) -> int:
        process = self._begin(formatting(self.version, volume, update=update), volume)
        try:
            return process.wait(FORMAT_PATIENCE)
        except subprocess.TimeoutExpired:
            end(process)
            raise refusal("format", volume, self._last_words(volume), "it took too long") from None

    def _mount(self, volume: Volume) -> Mount:
        """Start the client and see to it that it ends up mounted, or not running."""
        stage = self.places.stage(volume.directory)
        end_strays(stage)
        mounts.detach(self.node, stage)  # a dead one's mount would be taken for the new client's
        self.node.run(lambda: stage.mkdir(parents=True, exist_ok=True))
        process = self._begin(mounting(self.version, volume, str(stage)), volume)
        deadline = time.monotonic() + MOUNT_PATIENCE
        while not (found := mounttable.layers(self.node.mounts(), stage)):
            code = process.poll()
            if code is not None:
                raise refusal("mount", volume, self._last_words(volume), f"it ended with {code}")
            if time.monotonic() > deadline:
                end(process)
                raise refusal("mount", volume, self._last_words(volume), "it took too long")
            time.sleep(PAUSE)
        threading.Thread(target=process.wait, name=f"client-{process.pid}", daemon=True).start()
        LOG.info("mounted volume=%r process=%d device=%s", volume.handle, process.pid, found[-1].device)
        return found[-1]

    def _begin(self, invocation: Invocation, volume: Volume) -> "subprocess.Popen[bytes]":
        """Start it in the node, in a session and control groups of its own, with what is secret in its environment."""
        resolver = str(self.places.resolver)
        entrance = [sys.executable, "-m", launch.__name__, str(self.node.process), str(self.places.state), resolver]
        with self._new_log(volume) as log:
            return subprocess.Popen(
                [*entrance, str(self.places.program), *invocation.argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**ENVIRONMENT, **invocation.defaults, **invocation.secrets},
                start_new_session=True,
                cwd="/",
            )

    def _new_log(self, volume: Volume) -> BinaryIO:
        """Begin the log anew; what is written goes to its end, so that it may be cut short at any time."""
        log = self.places.log(volume.directory)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")

    def _last_words(self, volume: Volume) -> str:
        return self.places.log(volume.directory).read_bytes()[-LAST_OF_LOG:].decode(errors="replace")

    def shorten_log(self, directory: str) -> None:
        """Let no client that complains for days fill the node's disk."""
        log = self.places.log(directory)
        if log.exists() and log.stat().st_size > LONGEST_LOG:
            os.truncate(log, 0)


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def end_strays(stage: Path) -> None:
    """End clients that mount here and were not waited for: their plugin was killed, or their mount taken away."""
    for process in (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()):
        with suppress(OSError):
            if _mounts_at(process, stage):
                os.kill(process, signal.SIGKILL)
                LOG.info("ended process=%d stage=%s", process, stage)
                _await_end(process, stage)


def _mounts_at(process: int, stage: Path) -> bool:
    words = (PROC / str(process) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    return words[-1] == os.fsencode(stage) and b"mount" in words


def _await_end(process: int, stage: Path) -> None:
    """Wait until it can mount nothing any more; one that has ended has no command line, also if nobody waits for it."""
    deadline = time.monotonic() + END_PATIENCE
    while _mounts_at(process, stage) and time.monotonic() < deadline:
        time.sleep(PAUSE)
