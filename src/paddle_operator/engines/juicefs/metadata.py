"""Directories and the pieces of many files at once, as the volume's metadata have them: the client tells one by one."""

import contextlib
import itertools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from paddle_operator.engines.juicefs import redis
from paddle_operator.engines.juicefs.blocks import Slice
from paddle_operator.engines.juicefs.places import Entries, Found
from paddle_operator.engines.juicefs.redis import Redis, RedisError, Reply

SETTING = b"setting"
FILE, DIRECTORY = 1, 2
# What a directory says of a name: the type and the inode.
ENTRY = struct.Struct(">BQ")
SCANNED_AT_ONCE = b"10000"
# How an inode is written: behind the flags its type and mode, and behind times and links its length.
ATTRIBUTES = struct.Struct(">xH48xQ")
# A write to a chunk: where, and which part of what is stored.
WRITE = struct.Struct(">IQIII")
CHUNK = 64 << 20
LARGEST = 64 << 10
UNLIKE_A_DIRECTORY = "this is not how JuiceFS writes down what is in a directory"
Extent = tuple[int, Slice]


class Setting(msgspec.Struct, rename={"uuid": "UUID", "block_size": "BlockSize"}):
    """What a volume was formatted with."""

    uuid: str
    block_size: int  # in KiB


class Metadata:
    """The metadata of one volume, in a Redis that is asked directly."""

    def __init__(self, asked: Redis) -> None:
        self._redis = asked
        (told,) = asked.ask([(b"GET", SETTING)])
        try:
            setting = msgspec.json.decode(told if isinstance(told, bytes) else b"", type=Setting)
        except msgspec.DecodeError as error:
            raise RedisError("this is the metadata of no volume") from error
        self.volume, self.block_size = setting.uuid, setting.block_size << 10

    def entries(self, here: Found) -> Entries:
        """Give what is in a directory other than the root, by the paths below the root."""
        below, found = list[Found](), list[Found]()
        try:
            for name, entry in self._names(here.inode or 0).items():
                kind, inode = ENTRY.unpack(entry)
                if b"/" in name:
                    raise RedisError(UNLIKE_A_DIRECTORY)
                if kind in {FILE, DIRECTORY}:
                    (found if kind == FILE else below).append(Found(f"{here.path}/{os.fsdecode(name)}", inode))
        except (TypeError, struct.error) as error:
            raise RedisError(UNLIKE_A_DIRECTORY) from error
        return sorted(below), sorted(found)

    def _names(self, inode: int) -> dict[bytes, bytes]:
        """Read a directory in parts: to give a large one at once would hold up all others that ask."""
        names: dict[bytes, bytes] = {}
        cursor = b"0"
        while True:
            match self._redis.ask([(b"HSCAN", b"d%d" % inode, cursor, b"COUNT", SCANNED_AT_ONCE)]):
                case [[bytes() as cursor, list() as told]]:
                    names.update(zip(told[::2], told[1::2], strict=True))
                case _:
                    raise RedisError(UNLIKE_A_DIRECTORY)
            if cursor == b"0":
                return names

    def pieces(self, inodes: Sequence[int]) -> list[list[Slice] | None]:
        """Give the pieces of each that have data; None for what is not there, or no file."""
        if not inodes:
            return []
        first = [(b"LRANGE", b"c%d_0" % inode, b"0", b"-1") for inode in inodes]
        attributes, *chunks = self._redis.ask([(b"MGET", *(b"i%d" % inode for inode in inodes)), *first])
        if not isinstance(attributes, list):
            raise RedisError("this is the metadata of no volume")
        return [
            None if (length := length_of(known)) is None else [*visible(chunk), *self._rest(inode, length)]
            for inode, known, chunk in zip(inodes, attributes, chunks, strict=True)
        ]

    def _rest(self, inode: int, length: int) -> Iterator[Slice]:
        """Give what is behind the first chunk."""
        if length <= CHUNK:
            return
        numbers = iter(range(1, -(-length // CHUNK)))
        while some := list(itertools.islice(numbers, LARGEST)):
            for chunk in self._redis.ask([(b"LRANGE", b"c%d_%d" % (inode, number), b"0", b"-1") for number in some]):
                yield from visible(chunk)


def length_of(attributes: Reply) -> int | None:
    """Read a file's length; None if this is nothing, or something else."""
    if not isinstance(attributes, bytes) or len(attributes) < ATTRIBUTES.size:
        return None
    mode, length = ATTRIBUTES.unpack_from(attributes)
    return int(length) if mode >> 12 == FILE else None


def visible(chunk: Reply) -> list[Slice]:
    """Give what is to be seen of a chunk's writes, of which later ones cover earlier ones; less its holes."""
    try:
        writes = [WRITE.unpack(write) for write in chunk]  # type: ignore[arg-type,union-attr]  # or TypeError
    except (TypeError, struct.error) as error:
        raise RedisError("this is not how JuiceFS writes down the pieces of a file") from error
    extents: list[Extent] = [(write[0], Slice(*write[1:])) for write in writes]
    if len(extents) > 1:
        extents = sorted(uppermost(extents))
    return [piece for _, piece in extents if piece.id]


def uppermost(writes: Iterable[Extent]) -> list[Extent]:
    """Give what no later write covers."""
    extents: list[Extent] = []
    for start, piece in writes:
        extents = [left for extent in extents for left in uncovered(extent, start, start + piece.length)]
        extents.append((start, piece))
    return extents


def uncovered(extent: Extent, start: int, end: int) -> Iterator[Extent]:
    """Give what stays of an extent when something is written over a part of the chunk."""
    here, piece = extent
    if (before := min(start - here, piece.length)) > 0:
        yield here, replace(piece, length=before)
    if (after := min(here + piece.length - end, piece.length)) > 0:
        skipped = piece.length - after
        yield here + skipped, replace(piece, offset=piece.offset + skipped, length=after)


@contextlib.contextmanager
def opened(file: Path | None, volume: str) -> Iterator[Metadata | None]:
    """Ask the engine whose address is in a file; None if it is not told, is no plain Redis, or has another volume."""
    with contextlib.ExitStack() as stack:
        found = None
        with contextlib.suppress(OSError, RedisError):
            address = redis.parse_address(file.read_text(errors="replace").strip()) if file else None
            if address is not None:
                asked = Metadata(stack.enter_context(redis.opened(address)))
                found = asked if asked.volume == volume else None
        yield found
