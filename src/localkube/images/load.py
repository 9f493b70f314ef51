"""Puts an image on every node, where it is not there already: unpacked once, for all of them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from localkube import errors, lock
from localkube.images import archive, layers
from localkube.images.runtime import Runtime
from localkube.init.control import Control
from localkube.progress import Progress
from localkube.waiting import wait_until

AT_ONCE = 8
RUNTIME_TIMEOUT = 30.0
_Answer = TypeVar("_Answer")


def load(controls: Sequence[Control], image: Path, place: Path, progress: Progress) -> None:
    """Give all nodes the archive's image; those that have this very image under its name are left alone.

    `place` is where the nodes find unpacked layers.
    """
    wanted = Wanted(image, archive.identity(image), tuple(archive.references(image)))
    if not wanted.names:
        raise errors.LocalkubeError(f"the image in {image} has no name: save it with one")
    present = _on_each(controls, wanted.present_on)
    missing = [control for control, there in zip(controls, present, strict=True) if not there]
    if missing:
        nodes = "1 node" if len(missing) == 1 else f"{len(missing)} nodes"
        with progress.step(f"image {wanted.names[0]} to {nodes}"):
            _bring(controls, missing, wanted, place, progress)


def _bring(
    controls: Sequence[Control], missing: Sequence[Control], wanted: "Wanted", place: Path, progress: Progress
) -> None:
    waiting = "Another localkube is unpacking an image; waiting for it to finish."
    with lock.exclusive(place / ".lock", waiting, progress.say):
        layers.unpack(wanted.archive, place)
        _on_each(missing, wanted.bring_to)
        layers.keep(place, set[str]().union(*_on_each(controls, lambda control: Runtime(control).layers())))


@dataclass(frozen=True)
class Wanted:
    archive: Path
    identity: str
    names: tuple[str, ...]

    def present_on(self, control: Control) -> bool:
        """Compare the contents behind the names: an image's labels tell nothing, they stay when it is replaced."""
        runtime = Runtime(control)
        if not runtime.runs():  # asked once by itself, so that a node that is off says so at once
            otherwise = "its container runtime does not come up; see its containerd.log"
            wait_until(runtime.runs, RUNTIME_TIMEOUT, otherwise)
        return self._known_to(runtime)

    def _known_to(self, runtime: Runtime) -> bool:
        """Ask for the ID as well: the part of the runtime that serves the kubelet adds it to an image it has seen."""
        manifests = runtime.manifests()
        known = manifests.get(self.identity)
        return known is not None and all(manifests.get(name) == known for name in self.names)

    def bring_to(self, control: Control) -> None:
        runtime = Runtime(control)
        replaced = _release(runtime, self.names)
        runtime.add(
            archive.outline(self.archive), self.identity, [layer.chain for layer in archive.layers(self.archive)]
        )
        otherwise = f"after the import there is no {' and '.join(self.names)}"
        wait_until(lambda: self._known_to(runtime), RUNTIME_TIMEOUT, otherwise)
        _forget(runtime, replaced)


def _release(runtime: Runtime, names: Sequence[str]) -> set[str]:
    """Take the names from other images and return those: the kubelet's part overlooks a name that changes hands."""
    manifests = runtime.manifests()
    if taken := [name for name in names if name in manifests]:
        runtime.remove(taken)
    return {manifests[name] for name in taken}


def _forget(runtime: Runtime, replaced: set[str]) -> None:
    """Remove images that have only their ID left, so that rebuilding one does not fill the disk."""
    manifests = runtime.manifests()
    named = {manifest for name, manifest in manifests.items() if not name.startswith("sha256:")}
    if stale := [name for name, manifest in manifests.items() if manifest in replaced - named]:
        runtime.remove(stale)


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
