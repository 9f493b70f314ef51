"""Mounting in a namespace: copies of a mount put on top of places, and taken away again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddle_operator.csi import mounttable, syscalls
from paddle_operator.csi.mounttable import Mount
from paddle_operator.csi.namespaces import Namespace
from paddle_operator.csi.syscalls import Attribute

STATE_OPTIONS = "mode=0700,size=16m"
WHOLE = "/"
FORBIDDEN = {
    "ro": Attribute.RDONLY,
    "nosuid": Attribute.NOSUID,
    "nodev": Attribute.NODEV,
    "noexec": Attribute.NOEXEC,
}


def forbidden_by(mount: Mount) -> Attribute:
    """Give what this very mount does not allow, for another to forbid it too."""
    forbidden = Attribute(0)
    for option, attribute in FORBIDDEN.items():
        if option in mount.options:
            forbidden |= attribute
    return forbidden


def prepare_state(node: Namespace, state: Path) -> None:
    """Have a file system in memory, for root alone, whose mounts are seen by the node whoever makes them."""

    def mount() -> None:
        state.mkdir(parents=True, exist_ok=True)
        syscalls.mount_tmpfs(state, STATE_OPTIONS)
        syscalls.make_private(state)

    if not mounttable.layers(node.mounts(), state):
        node.run(mount)
    node.run(lambda: syscalls.make_shared(state))


def bind(node: Namespace, source: Path, target: Path, forbidden: Attribute) -> None:
    """Show `source` at `target` too; nobody sees it there before what is forbidden is."""

    def show() -> None:
        mount = copied(source, WHOLE, forbidden)
        with closing(mount), opened(target) as place:
            syscalls.attach(mount, place)

    node.run(show)


def cover(within: Namespace, covered: Mount, copy: int) -> bool:
    """Put a copy of a mount over a mount in another namespace; tell whether its place still led there."""

    def put() -> bool:
        with opened(covered.place) as place:
            if mount_at(place, descriptors) != covered.identity:
                return False
            syscalls.attach(copy, place)
            return True

    with opened(Path("/proc/self/fdinfo")) as descriptors:
        return within.run(put)


def mount_at(place: int, descriptors: int) -> int:
    """Ask the kernel which mount a descriptor is on: a path may have been changed since the list was read."""
    information = os.open(str(place), os.O_RDONLY | os.O_CLOEXEC, dir_fd=descriptors)
    with os.fdopen(information) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))


def detach(within: Namespace, place: Path, *, leave: int = 0) -> None:
    """Take away what is mounted at a place, from the top, but for the lowest so many."""
    for _ in mounttable.layers(within.mounts(), place)[leave:]:
        within.run(lambda: syscalls.detach(place))


def copied(source: Path, root: str, forbidden: Attribute) -> int:
    """Copy the mount at `source`, from the directory `root` of it downwards, forbid, and give a descriptor of it."""
    with opened(source) as place:
        start = os.dup(place) if root == WHOLE else syscalls.opened_beneath(place, root.lstrip(WHOLE))
        with closing(start):
            mount = syscalls.cloned_mount(start)
    try:
        syscalls.restrict(mount, forbidden)
    except OSError:
        os.close(mount)
        raise
    return mount


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Hold on to a place without asking its file system anything."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    with closing(descriptor):
        yield descriptor


@contextmanager
def closing(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
