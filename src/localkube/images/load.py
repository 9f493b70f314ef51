"""Puts an image into every node's container runtime, where it is not there already."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from localkube import errors
from localkube.images import archive
from localkube.init.control import Control
from localkube.nodeplane import CONTAINERD_SOCKET
from localkube.progress import Progress
from localkube.waiting import wait_until

CTR = ("ctr", "--namespace", "k8s.io", "images")
AT_ONCE = 8
IMPORT_TIMEOUT = 600.0
RUNTIME_TIMEOUT = 30.0
_Answer = TypeVar("_Answer")


def load(controls: list[Control], image: Path, progress: Progress) -> None:
    """Import the archive into all nodes at once; those that have this very image under its name are left alone."""
    wanted = Wanted(image, archive.identity(image), tuple(archive.references(image)))
    if not wanted.names:
        raise errors.LocalkubeError(f"the image in {image} has no name: save it with one")
    present = _on_each(controls, wanted.present_on)
    missing = [control for control, there in zip(controls, present, strict=True) if not there]
    if missing:
        nodes = "1 node" if len(missing) == 1 else f"{len(missing)} nodes"
        with progress.step(f"image {wanted.names[0]} to {nodes}"):
            _on_each(missing, wanted.bring_to)


@dataclass(frozen=True)
class Wanted:
    archive: Path
    identity: str
    names: tuple[str, ...]

    def present_on(self, control: Control) -> bool:
        """Compare the contents behind the names: an image's labels tell nothing, they stay when it is replaced."""
        if not _runs(control):  # asked once by itself, so that a node that is off says so at once
            otherwise = "its container runtime does not come up; see its containerd.log"
            wait_until(lambda: _runs(control), RUNTIME_TIMEOUT, otherwise)
        return self._known_to(control)

    def _known_to(self, control: Control) -> bool:
        """Ask for the ID as well: the part of the runtime that serves the kubelet adds it to an image it has seen."""
        manifests = _manifests(control)
        known = manifests.get(self.identity)
        return known is not None and all(manifests.get(name) == known for name in self.names)

    def bring_to(self, control: Control) -> None:
        """Import through standard input, since the node sees none of this machine's files."""
        replaced = _release(control, self.names)
        with self.archive.open("rb") as content:
            control.run_inside([*CTR, "import", "--digests=false", "-"], stdin=content, timeout=IMPORT_TIMEOUT)
        otherwise = f"after the import there is no {' and '.join(self.names)}"
        wait_until(lambda: self._known_to(control), RUNTIME_TIMEOUT, otherwise)
        _forget(control, replaced)


def _manifests(control: Control) -> dict[str, str]:
    """Return what each image's name stands for; an image has its ID as one of its names."""
    rows = [row.split() for row in control.run_inside([*CTR, "list"]).splitlines()[1:]]
    return {name: manifest for name, _, manifest, *_ in rows}


def _release(control: Control, names: Sequence[str]) -> set[str]:
    """Take the names from other images and return those: the kubelet's part overlooks a name that changes hands."""
    manifests = _manifests(control)
    if taken := [name for name in names if name in manifests]:
        control.run_inside([*CTR, "remove", *taken])
    return {manifests[name] for name in taken}


def _forget(control: Control, replaced: set[str]) -> None:
    """Remove images that have only their ID left, so that rebuilding one does not fill the node's disk."""
    manifests = _manifests(control)
    named = {manifest for name, manifest in manifests.items() if not name.startswith("sha256:")}
    if stale := [name for name, manifest in manifests.items() if manifest in replaced - named]:
        control.run_inside([*CTR, "remove", *stale])


def _runs(control: Control) -> bool:
    try:
        control.run_inside(["test", "-S", CONTAINERD_SOCKET])
    except errors.CommandFailedError:
        return False
    return True


def _on_each(controls: Sequence[Control], act: Callable[[Control], _Answer]) -> list[_Answer]:
    """Act on all nodes, and only then tell which of them failed."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running: list[Future[_Answer]] = [pool.submit(act, control) for control in controls]
    failures = [
        str(error) if control.what in str(error) else f"{control.what}: {error}"
        for control, future in zip(controls, running, strict=True)
        if isinstance(error := future.exception(), errors.LocalkubeError)
    ]
    if failures:
        raise errors.LocalkubeError(f"the image could not be loaded; {'; '.join(failures)}")
    return [future.result() for future in running]
