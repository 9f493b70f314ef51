"""What this machine must offer before a cluster is begun; each lack is one sentence with its remedy."""

import contextlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from localkube import cgroups, commands, errors
from localkube.cgroups import Hierarchy
from localkube.paths import Home

GIB = 1 << 30
NEEDED_DISK = 4 * GIB
NEEDED_MEMORY = 2 * GIB
NEEDED_CONTROLLERS = frozenset({"cpu", "memory", "pids"})
FUSE, LOOP = Path("/dev/fuse"), Path("/dev/loop-control")
# By these the kernel tells programs of changed files; each user has so many, 128 where nobody gave more. A cluster's
# API server and controllers take eight, and so do the programs of each node.
WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
WATCHERS_EACH = 8
NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "true")


def check(home: Home, *, needs_disk: bool = True, needs_memory: bool = True, new_nodes: int = 0) -> None:
    found = problems(home, needs_disk=needs_disk, needs_memory=needs_memory)
    if new_nodes and not found and (few := watchers(new_nodes, watchers_allowed(), watchers_taken())):
        found = [few]
    if len(found) == 1:
        raise errors.LocalkubeError(found[0])
    if found:
        raise errors.LocalkubeError(
            "\n".join(["this machine is not ready for a cluster:", *(f"- {one}" for one in found)])
        )


def problems(home: Home, *, needs_disk: bool = True, needs_memory: bool = True) -> list[str]:
    """Say everything that is wrong at once; without Linux or root nothing else can be judged."""
    for verdict in (system(sys.platform), user(os.geteuid())):
        if verdict:
            return [verdict]
    verdicts = [
        device(FUSE, "fuse"),
        device(LOOP, "loop"),
        control_groups(cgroups.mounted()),
        namespaces(NAMESPACES),
        *(disks((home.state, home.cache)) if needs_disk else ()),
        memory(Path("/proc/meminfo").read_text()) if needs_memory else None,
        package("cryptography"),
    ]
    return [verdict for verdict in verdicts if verdict]


def system(name: str) -> str | None:
    return None if name == "linux" else "localkube needs Linux: run it on a Linux machine or in a virtual one"


def user(identity: int) -> str | None:
    return None if identity == 0 else "localkube needs root: run it with sudo"


def watchers(nodes: int, limit: int, taken: int) -> str | None:
    """Without them, containerd and the kubelet start again and again: "too many open files"."""
    needed = WATCHERS_EACH * (nodes + 1)
    if limit - taken >= needed:
        return None
    return (
        f"programs of one user may have {limit} inotify instances on this machine, {taken} are taken, and a cluster of "
        f"{nodes} nodes needs {needed}: `sysctl fs.inotify.max_user_instances=1024` lets them have more"
    )


def watchers_allowed() -> int:
    """Read the kernel's limit; where it is not to be seen, nothing is known against a cluster."""
    with contextlib.suppress(OSError, ValueError):
        return int(WATCHERS.read_text())
    return sys.maxsize


def watchers_taken() -> int:
    """Count what programs of our user have; those that end meanwhile have none."""
    return sum(map(_watchers_of, (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())))


def _watchers_of(process: Path) -> int:
    with contextlib.suppress(OSError):
        if process.stat().st_uid == os.geteuid():
            return sum(map(_is_watcher, (process / "fd").iterdir()))
    return 0


def _is_watcher(file: Path) -> bool:
    with contextlib.suppress(OSError):
        return str(file.readlink()) == "anon_inode:inotify"
    return False


def package(name: str) -> str | None:
    if importlib.util.find_spec(name):
        return None
    return f"the package {name} is not installed: `pip install 'paddle-operator[localkube]'` installs it, too"


def device(path: Path, module: str) -> str | None:
    """Open it, since a device may be there and still be forbidden to a container."""
    remedy = f"load it with `modprobe {module}`, or let this container have it (--device {path})"
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return f"the device {path} is missing: {remedy}"
    except OSError as error:
        return f"the device {path} cannot be opened ({error.strerror}): {remedy}"
    return None


def control_groups(hierarchies: Sequence[Hierarchy]) -> str | None:
    if not hierarchies:
        return "no control groups are mounted: `mount -t cgroup2 none /sys/fs/cgroup` gives them"
    if lacking := ", ".join(sorted(NEEDED_CONTROLLERS - controllers(hierarchies))):
        return f"the kernel offers no control groups for {lacking}: enable them on the kernel's command line"
    closed = [str(one.mountpoint) for one in hierarchies if not os.access(one.mountpoint, os.W_OK)]
    if closed:
        return (
            f"the control groups at {', '.join(closed)} are read-only: remount them, or run this container privileged"
        )
    return None


def controllers(hierarchies: Iterable[Hierarchy]) -> set[str]:
    """Join what all trees offer: a machine may have some in trees of version 1 and others in the one of version 2."""
    found: set[str] = set()
    for hierarchy in hierarchies:
        offered = hierarchy.mountpoint / "cgroup.controllers"
        found |= set(offered.read_text().split()) if offered.is_file() else hierarchy.controllers
    return found


def namespaces(trial: Sequence[str]) -> str | None:
    try:
        commands.run(trial)
    except errors.CommandFailedError as error:
        return f"this machine does not let us make namespaces ({error}): in a container, run that one privileged"
    return None


def disks(places: Iterable[Path], free: Callable[[Path], int] | None = None) -> list[str]:
    """Judge each file system once, by the first of our places on it."""
    measure = free or free_space
    by_device = {nearest(place).stat().st_dev: place for place in reversed(list(places))}
    return [
        f"only {measure(place) / GIB:.1f} GiB of disk are free at {place}: make room for {NEEDED_DISK // GIB} GiB"
        for place in by_device.values()
        if measure(place) < NEEDED_DISK
    ]


def free_space(place: Path) -> int:
    return shutil.disk_usage(nearest(place)).free


def nearest(place: Path) -> Path:
    """Give the place itself, or the closest directory above it that exists."""
    absolute = place.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())


def memory(meminfo: str) -> str | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo, re.MULTILINE)
    available = int(match.group(1)) * 1024 if match else NEEDED_MEMORY
    if available >= NEEDED_MEMORY:
        return None
    return f"only {available / GIB:.1f} GiB of memory are available: free some, {NEEDED_MEMORY // GIB} GiB are needed"
