"""Control groups: every process of a cluster is in one, so all of them can be found, measured and ended."""

import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from localkube import errors

MOUNTS = Path("/proc/self/mounts")
PLACE = Path("/sys/fs/cgroup")
PARENT = "localkube"
CONTROL = "control"
SYSTEM = "system"
UNIFIED = 2
TRIES = 20
# How the kernel refuses work in a group that is gone, or that is just going.
GONE = frozenset({errno.ENOENT, errno.ENODEV})


@dataclass(frozen=True)
class Hierarchy:
    """One mounted cgroup tree: all controllers on a v2 machine, one controller each on v1."""

    mountpoint: Path
    version: int
    options: str

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset(self.options.split(","))


def mounted() -> list[Hierarchy]:
    """Give those at the usual place: whoever mounts one elsewhere, too, does so for a purpose of his own."""
    found = []
    for line in MOUNTS.read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if not Path(where).is_relative_to(PLACE):
            continue
        if kind == "cgroup2":
            found.append(Hierarchy(Path(where), UNIFIED, ""))
        elif kind == "cgroup":
            # What is not a mount flag names the controllers, or a named tree: name=systemd.
            own = [
                word for word in options.split(",") if word not in {"rw", "ro", "relatime", "nosuid", "nodev", "noexec"}
            ]
            found.append(Hierarchy(Path(where), 1, ",".join(own)))
    return found


def group_paths(ident: str, leaf: str = "") -> list[Path]:
    """Give the cluster's directory (or one below it) in every hierarchy."""
    return [hierarchy.mountpoint / PARENT / ident / leaf for hierarchy in mounted()]


def create(ident: str, leaf: str) -> list[Path]:
    """Make the group everywhere, with its controllers delegated, and return the files a process joins it by."""
    for hierarchy in mounted():
        if hierarchy.version == UNIFIED:  # a predecessor's that handed controllers down would take nobody in
            _remove(hierarchy.mountpoint / PARENT / ident / leaf)
        if not any(_made(hierarchy, (PARENT, ident, leaf)) for _ in range(TRIES)):
            raise errors.LocalkubeError(f"groups in {hierarchy.mountpoint / PARENT} go while they are made: try again")
    return [path / "cgroup.procs" for path in group_paths(ident, leaf)]


def create_inner(ident: str, leaf: str) -> list[Path]:
    """Make a group in it on v2, for who is to hand controllers down there: a group that does so may hold no process."""
    inner = [one.mountpoint / PARENT / ident / leaf / SYSTEM for one in mounted() if one.version == UNIFIED]
    for path in inner:
        path.mkdir(exist_ok=True)
    return [path / "cgroup.procs" for path in inner]


def _made(hierarchy: Hierarchy, parts: Sequence[str]) -> bool:
    """Tell whether it worked: who removes the last other cluster takes the common parent with it, while it is empty."""
    path = hierarchy.mountpoint
    try:
        for part in parts:
            _delegate(hierarchy, path)
            path /= part
            path.mkdir(exist_ok=True)
            _inherit_cpuset(hierarchy, path)
    except OSError as error:
        if error.errno in GONE:
            return False
        raise
    return True


def _delegate(hierarchy: Hierarchy, path: Path) -> None:
    """On v2 a group's children get only the controllers that it hands down."""
    if hierarchy.version != UNIFIED:
        return
    for controller in (path / "cgroup.controllers").read_text().split():
        try:
            (path / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError:
            continue  # a controller that this kernel cannot delegate here (realtime cpu, domain threaded)


def _inherit_cpuset(hierarchy: Hierarchy, path: Path) -> None:
    """On v1 a new cpuset is empty and refuses processes."""
    if hierarchy.version == 1 and "cpuset" in hierarchy.controllers:
        for name in ("cpuset.cpus", "cpuset.mems"):
            if not (path / name).read_text().strip():
                (path / name).write_text((path.parent / name).read_text())


def processes(ident: str) -> set[int]:
    return {pid for root in group_paths(ident) for group in _subtree(root) for pid in _members(group)}


def _subtree(root: Path) -> Iterator[Path]:
    """Deepest first, as they have to be removed."""
    for directory, _, _ in os.walk(root, topdown=False):
        yield Path(directory)


def _members(group: Path) -> list[int]:
    """Leave out 0, by which the kernel shows who has no pid here: to kill that one would be to kill ourselves."""
    try:
        pids = [int(word) for word in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []  # gone meanwhile
    return [pid for pid in pids if pid > 0]


def kill(ident: str, timeout: float = 20.0) -> None:
    """End every process of the cluster and wait until the kernel has let go of them."""
    deadline = time.monotonic() + timeout
    while left := processes(ident):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            raise errors.LocalkubeError(f"processes {sorted(left)} do not end: the kernel holds them (see their wchan)")
        time.sleep(0.02)


def remove(ident: str) -> None:
    for root in group_paths(ident):
        _remove(root)
        _rmdir(root.parent)  # stays where another cluster needs it


def _remove(root: Path, timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    for group in _subtree(root):
        while not _rmdir(group):
            if time.monotonic() > deadline:
                raise errors.LocalkubeError(f"the control group {group} is still busy")
            time.sleep(0.02)


def _rmdir(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def usage(ident: str) -> tuple[float, int]:
    """Give the seconds of CPU used so far and the bytes of memory held now, page cache left out."""
    cpu, memory = 0.0, 0
    for root in group_paths(ident):
        cpu = max(cpu, _keyed(root / "cpu.stat").get("usage_usec", 0) / 1e6, _nanoseconds(root / "cpuacct.usage") / 1e9)
        held = _keyed(root / "memory.stat")
        memory = max(
            memory, held.get("total_rss", 0) + held.get("total_shmem", 0), held.get("anon", 0) + held.get("shmem", 0)
        )
    return cpu, memory


def _nanoseconds(path: Path) -> int:
    """Read what version 1 counts in a tree of its own; others say nothing."""
    return int(path.read_text()) if path.exists() else 0


def _keyed(path: Path) -> dict[str, int]:
    """Read a file of names and numbers; a hierarchy that does not have it says nothing."""
    if not path.exists():
        return {}
    rows = (line.split() for line in path.read_text().splitlines())
    return {name: int(value) for name, value in rows}
