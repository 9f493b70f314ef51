"""The blocks that a file's data is stored and cached in, by the names that JuiceFS gives them; pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

CHUNKS = re.compile(r"^ *chunks:\n(.*)", re.MULTILINE | re.DOTALL)
SLICE = re.compile(r"^\t\d+:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$", re.MULTILINE)
LENGTH = re.compile(r"^ *length:\s.*?(\d+)(?: Bytes\)?)?$", re.MULTILINE)
NAME = re.compile(r"(\d+)_(\d+)_(\d+)", re.ASCII)
# The sizes that a volume's blocks may have; 0.14 does not tell which one it is.
BLOCK_SIZES = tuple(1 << power for power in range(26, 15, -1))
USUAL_BLOCK_SIZE = 4 << 20
CHECKSUMMED = 32 << 10
CHECKSUM = 4


class Slice(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """A piece of a file: it is `length` bytes from `offset` on of the data stored under `id`."""

    id: int
    size: int
    offset: int
    length: int


class Block(msgspec.Struct, frozen=True, gc=False):
    """A part of what is stored under an id, in an object and in a file of the cache."""

    id: int
    number: int
    size: int

    @property
    def name(self) -> str:
        return f"{self.id}_{self.number}_{self.size}"

    @property
    def path(self) -> str:
        """Give where it usually is below a cache's `raw`."""
        id_ = self.id
        return f"chunks/{id_ // 1000 // 1000}/{id_ // 1000}/{id_}_{self.number}_{self.size}"

    @property
    def spread_path(self) -> str:
        """Give where it is in volumes whose objects are spread by a prefix."""
        return f"chunks/{self.id % 256:02X}/{self.id // 1000 // 1000}/{self.name}"

    @property
    def paths(self) -> tuple[str, str]:
        return self.path, self.spread_path

    def is_whole(self, size: int) -> bool:
        return is_whole(self.size, size)


def is_whole(block: int, file: int) -> bool:
    """Tell by their sizes whether a file can be a block: 1.x adds a checksum for each part of it."""
    return file in (block, block + -(-block // CHECKSUMMED) * CHECKSUM)


class Pieces(NamedTuple):
    """The pieces of a file that have data, and whether they and its holes make up all of it."""

    slices: list[Slice]
    is_all: bool


def parse_pieces(info: str) -> Pieces | None:
    """Read what JuiceFS tells of a file; None if that is something else, such as an error."""
    length, table = LENGTH.search(info), CHUNKS.search(info)
    if not length or not table:
        return None
    slices = [Slice(*map(int, row)) for row in SLICE.findall(table[1])]
    covered = sum(piece.length for piece in slices)
    # Id 0 is a hole, which has no data. One at the end is not told of.
    return Pieces([piece for piece in slices if piece.id], covered >= int(length[1]))


def blocks_of(piece: Slice, block_size: int) -> Iterator[Block]:
    """Give the blocks that a piece of a file needs, of all those that are stored under its id."""
    if piece.length <= 0:
        return
    for number in range(piece.offset // block_size, (piece.offset + piece.length - 1) // block_size + 1):
        yield Block(piece.id, number, min(block_size, piece.size - number * block_size))


def first_blocks(piece: Slice) -> list[Block]:
    """Give what the first block can be called, the largest first."""
    return [Block(piece.id, 0, size) for size in sorted({min(size, piece.size) for size in BLOCK_SIZES}, reverse=True)]
