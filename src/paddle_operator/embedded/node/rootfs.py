"""The root that a container sees: the machine's own, with the pod's volumes at their places."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from paddle_operator.embedded.node import kernel

PROC, MEMORY = Path("/proc"), Path("/dev/shm")  # noqa: S108 the container's own


class Mount(msgspec.Struct, frozen=True):
    """Something of the machine at a place of the container."""

    source: str
    target: str
    read_only: bool = False


@dataclass
class Root:
    """A file system in memory that shows all of the machine; places that it lacks are made in memory only."""

    stage: Path
    scratch: Path
    _own: set[Path] = field(default_factory=set)

    def build(self) -> None:
        kernel.mount_tmpfs(self.stage)
        self._show(Path("/"), self.stage)
        self._own.add(self.stage)

    def mount(self, mount: Mount) -> None:
        source = Path(mount.source)
        place = self._made(self._within(mount.target), directory=source.is_dir())
        kernel.bind(source, place, read_only=mount.read_only)
        if source.is_dir():
            self._own.add(place)

    def have(self, directory: str) -> None:
        """Make a directory to work in where there is none, as containers' runtimes do."""
        self._made(self._within(directory), directory=True)

    def enter(self) -> None:
        """Become its only inhabitant: its processes are those of the namespace that we are in."""
        kernel.mount_proc(self._within(str(PROC)))
        if (memory := self._within(str(MEMORY))).is_dir() and memory not in self._own:
            kernel.mount_tmpfs(memory, "mode=1777")
        kernel.become_root(self.stage)

    def _within(self, target: str) -> Path:
        """Follow the machine's own links, such as /var/run, as the container would."""
        return self.stage / os.path.realpath(target).lstrip("/")

    def _made(self, place: Path, *, directory: bool) -> Path:
        if os.path.lexists(place):
            return place
        above = next(parent for parent in place.parents if parent.is_dir())
        if not any(above == own or own in above.parents for own in self._own - {self.stage}) and above != self.stage:
            self._shadow(above)
        (place if directory else place.parent).mkdir(parents=True, exist_ok=True)
        if not directory:
            place.touch()
        return place

    def _shadow(self, directory: Path) -> None:
        """Put a directory in memory, with the same entries, over one of the machine: nothing is added to that."""
        kernel.mount_tmpfs(self.scratch)
        self._show(directory, self.scratch)
        kernel.move(self.scratch, directory)
        self._own.add(directory)

    def _show(self, directory: Path, place: Path) -> None:
        for entry in os.scandir(directory):
            shown = place / entry.name
            if entry.is_symlink():
                shown.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                shown.mkdir()
                kernel.bind(Path(entry.path), shown)
            else:
                shown.touch()
                kernel.bind(Path(entry.path), shown)
