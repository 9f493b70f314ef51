"""The files of a node's cache directories: which blocks they are, how much they hold, and removing them."""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from isal import isal_zlib

from paddle_operator.engines.juicefs.blocks import NAME, Block, is_whole

MARK = ".identity"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# Beside it is `rawstaging`: what is not in the object store yet, and never ours to remove.
RAW = "raw"
# A directory that changed this lately may change again within the same tick of the clock.
UNSETTLED = 2.0
READ_SIZE = 256 << 10
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Copy(msgspec.Struct, frozen=True, gc=False):
    """A file of the cache that can be a block by its name and size, and when it was last changed."""

    path: str
    changed: int


@dataclass(frozen=True)
class Holding:
    """How many blocks there are, and their size."""

    blocks: int = 0
    bytes: int = 0

    def __add__(self, other: "Holding") -> "Holding":
        return Holding(self.blocks + other.blocks, self.bytes + other.bytes)


def raw_trees(directories: tuple[Path, ...], volume: str = "") -> Iterator[Path]:
    """Give where blocks are: of one volume, or of all. A symbolic link is not followed."""
    for directory in directories:
        with contextlib.suppress(FileNotFoundError):
            for cache in sorted(directory.iterdir()):
                tree = cache / RAW
                is_asked_for = UUID.fullmatch(cache.name) and volume in {"", cache.name}
                if is_asked_for and is_directory(cache) and is_directory(tree):
                    yield tree


def is_directory(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return stat.S_ISDIR(os.lstat(path).st_mode)
    return False


def is_present(trees: tuple[Path, ...], block: Block) -> bool:
    """Tell whether a block is cached, whole."""
    return bool(copies(tuple(map(str, trees)), block))


def copies(roots: tuple[str, ...], block: Block) -> list[Copy]:
    """Give the files that are this block, whole: in several directories there may be several, from other days."""
    return copies_at(roots, block.path, block.size) or copies_at(roots, block.spread_path, block.size)


def copies_at(roots: tuple[str, ...], place: str, size: int) -> list[Copy]:
    found = []
    for root in roots:
        path = f"{root}/{place}"
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISREG(status.st_mode) and (status.st_size == size or is_whole(size, status.st_size)):
            found.append(Copy(path, status.st_ctime_ns))
    return found


def checksum(path: str, size: int, buffer: memoryview) -> int | None:
    """Sum up a block's bytes, without the checksums that 1.x adds; nothing for what cannot be read."""
    crc, left = 0, size
    try:
        descriptor = os.open(path, READING)
    except OSError:
        return None
    try:
        while left and (count := os.readv(descriptor, [buffer[:left]])):
            crc = isal_zlib.crc32(buffer[:count], crc)
            left -= count
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None if left else crc


def discard(files: Iterable[Copy]) -> None:
    for file in files:
        with contextlib.suppress(OSError):  # it is gone, or no file
            Path(file.path).unlink()


def discard_cut(trees: tuple[Path, ...], block: Block) -> None:
    """Remove a block that is not whole: the client takes it for cached, and does not fetch it again."""
    for path in (tree / place for tree in trees for place in block.paths):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if not block.is_whole(path.lstat().st_size):
                path.unlink()


@dataclass
class Inventory:
    """How much is cached, by the blocks' names: a directory that did not change is not read again."""

    seen: dict[str, tuple[int, Holding]] = field(default_factory=dict)

    def count(self, trees: tuple[Path, ...]) -> Holding:
        total, seen = Holding(), {}
        for tree in trees:
            for leaf in leaves(tree / "chunks"):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    seen[leaf] = self._leaf(leaf)
                    total += seen[leaf][1]
        self.seen = seen
        return total

    def _leaf(self, leaf: str) -> tuple[int, Holding]:
        changed = Path(leaf).stat().st_mtime_ns
        known = self.seen.get(leaf)
        if known and known[0] == changed:
            return known
        with os.scandir(leaf) as listing:
            sizes = [int(found[3]) for entry in listing if (found := NAME.fullmatch(entry.name))]
        settled = time.time_ns() - changed > UNSETTLED * 1e9
        return changed if settled else 0, Holding(len(sizes), sum(sizes))


def leaves(chunks: Path) -> Iterator[str]:
    """Give the directories that blocks lie in: two levels down."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for first in os.scandir(chunks):
            if first.is_dir(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError), os.scandir(first.path) as listing:
                    yield from [second.path for second in listing if second.is_dir(follow_symlinks=False)]


def remove_blocks(tree: Path, is_cancelled: Callable[[], bool]) -> Iterator[Holding]:
    """Empty a tree of blocks, leaf by leaf, and tell what went; the client makes directories anew that it needs."""
    for leaf in list(leaves(tree / "chunks")):
        if is_cancelled():
            return
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield emptied(leaf)
        for directory in (Path(leaf), Path(leaf).parent):
            with contextlib.suppress(OSError):  # it is not empty, or gone
                directory.rmdir()


def emptied(leaf: str) -> Holding:
    descriptor = os.open(leaf, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    gone = Holding()
    try:
        with os.scandir(descriptor) as listing:
            names = [entry.name for entry in listing if not entry.is_dir(follow_symlinks=False)]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
                found = NAME.fullmatch(name)
                gone += Holding(1, int(found[3])) if found else Holding()
    finally:
        os.close(descriptor)
    return gone


def give_up(directories: tuple[Path, ...]) -> Holding:
    """Empty caches that no server has any more, and first of all take their name: one that comes back begins anew."""
    for directory in directories:
        (directory / MARK).unlink(missing_ok=True)
    trees = list(raw_trees(directories))
    return sum((leaf for tree in trees for leaf in remove_blocks(tree, lambda: False)), Holding())


def identity(directories: tuple[Path, ...]) -> str:
    """Name the directories together; a node that starts again has lost those in its memory, and with them the name."""
    marks = [_mark(directory) for directory in directories]
    return hashlib.sha256("".join(marks).encode()).hexdigest()[:12] if all(marks) else ""


def _mark(directory: Path) -> str:
    path = directory / MARK
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(errors="replace")
    draft = path.with_suffix(".draft")
    with contextlib.suppress(OSError):  # without room, or without the directory, it has no name yet
        draft.write_text(secrets.token_hex(4))
        draft.replace(path)
        return path.read_text()
    return ""


def disks(directories: tuple[Path, ...]) -> tuple[int, int]:
    """Give the size and the free space of the file systems that these lie on, each counted once."""
    found: dict[int, tuple[int, int]] = {}
    for directory in directories:
        with contextlib.suppress(FileNotFoundError):
            usage = shutil.disk_usage(directory)
            found[directory.stat().st_dev] = (usage.total, usage.free)
    return sum(total for total, _ in found.values()), sum(free for _, free in found.values())
