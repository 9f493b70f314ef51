"""Paths below the data set's root, taken apart and walked without ever leaving it."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LONGEST = 1024
LONGEST_NAME = 255
# The client's own files, in the root of every mount.
OWN = {".accesslog", ".control", ".stats", ".config", ".trash", ".jfsconfig"}
# Files that runtime servers write there for a moment, and that are no data.
PROBE = ".paddle-operator-probe-"
PASSING = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
STEP = PASSING | os.O_NOFOLLOW
# What is not there, is a symbolic link, is on the other side of one, or is a socket.
NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
MOST_KEPT = 64
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


class Found(NamedTuple):
    """A file or a directory, by its path below the root, and its inode if it is known already."""

    path: str
    inode: int | None = None


# What is in a directory: its directories and its files, sorted.
Entries = tuple[list[Found], list[Found]]


class PlaceError(ValueError):
    """A path that is refused, and why, in a sentence; its text is shown shortened and quoted."""


def parse(text: str) -> PurePosixPath:
    """Read a path that names something below the data set's root: never the root, never anything else."""
    parts = [part for part in text.split("/") if part not in {"", "."}]
    shown = ascii(text[:80])
    if text.startswith("/"):
        raise PlaceError(f"the path {shown} is absolute: paths are relative to the data set's root")
    if ".." in parts:
        raise PlaceError(f"the path {shown} has '..' in it: it could leave the data set")
    if not parts:
        raise PlaceError(f"the path {shown} is the data set's root: name something in it")
    if len(text.encode(errors="replace")) > LONGEST or any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        raise PlaceError(f"the path {shown} is too long: {LONGEST} bytes, and {LONGEST_NAME} for a name")
    if CONTROL_CHARACTERS.search(text):
        raise PlaceError(f"the path {shown} has a control character in it")
    if parts[0] in OWN:
        raise PlaceError(f"the path {shown} is JuiceFS' own")
    return PurePosixPath(*parts)


@contextlib.contextmanager
def directory(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """Have a directory below the root to look at names in, which is open as long as this lasts."""
    descriptor = passed(root, parts)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def passed(root: Path, parts: Sequence[str]) -> int:
    """Go to a directory below the root step by step, through no symbolic link and into no other file system.

    Nothing but names is looked up, as for a path in one piece: the client is not told that a directory is opened.
    """
    descriptor = os.open(root, PASSING)
    device = os.fstat(descriptor).st_dev
    for part in parts:
        try:
            below = os.open(part, STEP, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    if os.fstat(descriptor).st_dev != device:
        os.close(descriptor)
        raise PlaceError(f"{'/'.join(parts)!a} is another file system: it is not of the data set")
    return descriptor


@dataclass
class Directories:
    """Directories below the root that stay open for a while: the next file is likely to be in one of them."""

    root: Path
    _device: int = field(init=False)
    _kept: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._device = self.root.stat().st_dev

    def inode(self, path: str) -> int | None:
        """Give a regular file's inode; nothing if there is none, or only beyond a symbolic link."""
        parent, _, name = path.rpartition("/")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PlaceError):
            found = os.stat(name, dir_fd=self._directory(parent), follow_symlinks=False)
            return found.st_ino if stat.S_ISREG(found.st_mode) and found.st_dev == self._device else None
        return None

    def _directory(self, path: str) -> int:
        if path not in self._kept:
            opened = passed(self.root, path.split("/") if path else ())
            if len(self._kept) >= MOST_KEPT:
                os.close(self._kept.pop(next(iter(self._kept))))
            self._kept[path] = opened
        return self._kept[path]

    def close(self) -> None:
        for descriptor in self._kept.values():
            os.close(descriptor)
        self._kept.clear()


def file(root: Path, place: PurePosixPath) -> int:
    """Open a regular file below the root: no symbolic link, nor anything that would be waited for."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with directory(root, place.parts[:-1]) as parent:
            descriptor = os.open(place.name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in NO_FILE:
            raise PlaceError(f"there is no file {str(place)!a} in the data set") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PlaceError(f"there is no file {str(place)!a} in the data set")
    return descriptor


def made_directory(root: Path, place: PurePosixPath) -> Path:
    """Make a directory below the root, through no symbolic link."""
    for depth, part in enumerate(place.parts):
        with directory(root, place.parts[:depth]) as parent, contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
    with directory(root, place.parts):
        return root / place


def status(root: Path, place: PurePosixPath) -> os.stat_result:
    """Look at a directory or a regular file below the root; a symbolic link is neither."""
    try:
        with directory(root, place.parts[:-1]) as parent:
            found = os.stat(place.name or ".", dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        raise PlaceError(f"there is no {str(place)!a} in the data set") from None
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise PlaceError(f"{str(place)!a} is neither a file nor a directory")
    return found


def files(root: Path, place: PurePosixPath, inside: Callable[[Found], Entries]) -> Iterator[Found]:
    """Give the regular files at and below a place, always in the same order; symbolic links are not followed.

    What is removed meanwhile is left out; a place that is not there at first is an error.
    """
    top = status(root, place)
    if stat.S_ISDIR(top.st_mode):
        waiting = [Found(str(place), top.st_ino)]
        while waiting:
            below, found = inside(waiting.pop())
            yield from found
            waiting += reversed(below)
    else:
        yield Found(str(place), top.st_ino)


def entries(root: Path, here: Found) -> Entries:
    """Give what is in a directory, by the paths below the root."""
    below, found = [], []
    is_root = here.path == "."
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PlaceError), listing(root, here.path) as listed:
        for entry in listed:
            path = entry.name if is_root else f"{here.path}/{entry.name}"
            if is_root and (entry.name in OWN or entry.name.startswith(PROBE)):
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append(Found(path, entry.inode()))
            elif entry.is_file(follow_symlinks=False):
                found.append(Found(path, entry.inode()))
    return sorted(below), sorted(found)


@contextlib.contextmanager
def listing(root: Path, here: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    with directory(root, PurePosixPath(here).parts) as passing:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=passing)
    try:
        with os.scandir(descriptor) as listed:
            yield listed
    finally:
        os.close(descriptor)
