"""Paths below the data set's root, taken apart and walked without ever leaving it."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LONGEST = 1024
LONGEST_NAME = 255
# The client's own files, in the root of every mount.
OWN = {".accesslog", ".control", ".stats", ".config", ".trash", ".jfsconfig"}
# Files that runtime servers write there for a moment, and that are no data.
PROBE = ".paddle-operator-probe-"
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


class Found(NamedTuple):
    """A file, by its path below the root, and its inode if it is known already."""

    path: str
    inode: int | None = None


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
def directory(root: Path, parts: tuple[str, ...]) -> Iterator[int]:
    """Open a directory below the root step by step, through no symbolic link and into no other file system."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with contextlib.ExitStack() as stack:
        descriptor = os.open(root, flags)
        stack.callback(os.close, descriptor)
        device = os.fstat(descriptor).st_dev
        for part in parts:
            descriptor = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            stack.callback(os.close, descriptor)
            if os.fstat(descriptor).st_dev != device:
                raise PlaceError(f"{part!a} is another file system: it is not of the data set")
        yield descriptor


def made_directory(root: Path, place: PurePosixPath) -> Path:
    """Make a directory below the root, through no symbolic link."""
    for depth, part in enumerate(place.parts):
        with directory(root, place.parts[:depth]) as parent, contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
    with directory(root, place.parts):
        return root / place


def mode(root: Path, place: PurePosixPath) -> int:
    try:
        return (root / place).lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise PlaceError(f"there is no {str(place)!a} in the data set") from None


def files(root: Path, place: PurePosixPath) -> Iterator[Found]:
    """Give the regular files at and below a place, always in the same order; symbolic links are not followed.

    What is removed meanwhile is left out; a place that is not there at first is an error.
    """
    if stat.S_ISDIR(mode(root, place)):
        waiting = [str(place)]
        while waiting:
            here = waiting.pop()
            below, found = entries(root, here)
            yield from found
            waiting += reversed(below)
    else:
        yield Found(str(place))


def entries(root: Path, here: str) -> tuple[list[str], list[Found]]:
    """Give a directory's directories and its files, sorted, by their paths below the root."""
    below, found = [], []
    is_root = here == "."
    with contextlib.suppress(FileNotFoundError), os.scandir(root / here) as listing:
        for entry in listing:
            path = entry.name if is_root else f"{here}/{entry.name}"
            if is_root and (entry.name in OWN or entry.name.startswith(PROBE)):
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append(path)
            elif entry.is_file(follow_symlinks=False):
                found.append(Found(path, entry.inode()))
    return sorted(below), sorted(found)
