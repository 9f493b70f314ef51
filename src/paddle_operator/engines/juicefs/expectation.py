"""What must be in the cache after a warm-up: the pieces of each file, kept on disk, and looked for at the end."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from paddle_operator.engines.juicefs import cachefiles, control
from paddle_operator.engines.juicefs.blocks import (
    USUAL_BLOCK_SIZE,
    Block,
    Pieces,
    Slice,
    blocks_of,
    first_blocks,
    is_whole,
    parse_pieces,
)
from paddle_operator.engines.juicefs.metadata import Metadata
from paddle_operator.engines.juicefs.places import Directories, Found
from paddle_operator.engines.operations import MOST_NAMED

LENGTH_BYTES = 4
# Records are written down and read so many at once.
FRAME = 1000
ASKED_AGAIN = 3


class Expected(msgspec.Struct, frozen=True, array_like=True):
    """A file, by its path below the root in bytes, and its pieces; None if it is not there."""

    path: bytes
    pieces: list[Slice] | None


@dataclass
class Findings:
    """What was looked for, and what was there."""

    files: int = 0
    bytes: int = 0
    expected: int = 0
    present: int = 0
    missing_files: int = 0
    missing: list[str] = field(default_factory=list)


def read_out(mount: Path, files: Sequence[Found], told: Metadata) -> list[Expected]:
    """Ask the metadata for the pieces of files, all at once."""
    there = list(located(mount, files))
    pieces = told.pieces([inode or 0 for _, inode in there])
    return [Expected(path, found) for (path, _), found in zip(there, pieces, strict=True)]


def observed(mount: Path, files: Iterable[Found]) -> Iterator[Expected]:
    """Ask the client for the pieces of files, one by one."""
    with control.opened(mount) as client:
        for path, inode in located(mount, files):
            yield Expected(path, None if inode is None else pieces_of(inode, client))


def located(mount: Path, files: Iterable[Found]) -> Iterator[tuple[bytes, int | None]]:
    """Give the path of each file, and its inode; nothing for what is not there."""
    with contextlib.closing(Directories(mount)) as directories:
        for file in files:
            yield os.fsencode(file.path), file.inode or directories.inode(file.path)


def pieces_of(inode: int, client: control.Control) -> list[Slice] | None:
    """Ask for the pieces of a file; where some seem to lack, ask again: it is a hole only if it stays one."""
    best: Pieces | None = None
    for _ in range(ASKED_AGAIN):
        pieces = parse_pieces(client.info(inode))
        if pieces and pieces.is_all:
            return pieces.slices
        best = max((one for one in (best, pieces) if one), key=lambda one: len(one.slices), default=None)
    return best.slices if best else None


def append(file: Path, records: Iterable[Expected]) -> None:
    left = iter(records)
    with file.open("ab") as output:
        while frame := list(itertools.islice(left, FRAME)):
            packed = msgspec.msgpack.encode(frame)
            output.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)


def read(file: Path) -> Iterator[Expected]:
    decoder = msgspec.msgpack.Decoder(list[Expected])
    with file.open("rb") as source:
        while length := source.read(LENGTH_BYTES):
            yield from decoder.decode(source.read(int.from_bytes(length, "big")))


def renew(mount: Path, expected: Path, missing: Path) -> None:
    """Ask again for the pieces of files that were missing: reading a file may have put its pieces together anew."""
    fresh, newer = missing.with_suffix(".fresh"), expected.with_suffix(".newer")
    fresh.unlink(missing_ok=True)
    append(fresh, observed(mount, (Found(os.fsdecode(old.path)) for old in read(missing))))
    newer.unlink(missing_ok=True)
    append(newer, merged(read(expected), read(fresh)))
    fresh.replace(missing)
    newer.replace(expected)


def merged(records: Iterator[Expected], fresh: Iterator[Expected]) -> Iterator[Expected]:
    """Give the records, with the fresh ones, which are in the same order, in the place of theirs."""
    new = next(fresh, None)
    for record in records:
        if new and new.path == record.path:
            yield new
            new = next(fresh, None)
        else:
            yield record


@dataclass
class Search:
    """Looks for blocks in a volume's cache; a block size that is not told is learned on the way."""

    trees: tuple[Path, ...]
    block_size: int | None
    _roots: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._roots = tuple(map(str, self.trees))

    def look(self, records: Iterable[Expected], missing: Path) -> Findings:
        """Count what is there, and write down the files of which something is not."""
        findings = Findings()
        missing.unlink(missing_ok=True)
        append(missing, self._absent(records, findings))
        return findings

    def discard_cut(self, records: Iterable[Expected]) -> None:
        for record in records:
            for piece in record.pieces or ():
                for block in self._blocks(piece):
                    cachefiles.discard_cut(self.trees, block)

    def _absent(self, records: Iterable[Expected], findings: Findings) -> Iterator[Expected]:
        for record in records:
            if not self._is_whole(record, findings):
                findings.missing_files += 1
                if len(findings.missing) < MOST_NAMED:
                    findings.missing.append(shown(record.path))
                yield record

    def _is_whole(self, record: Expected, findings: Findings) -> bool:
        findings.files += 1
        if record.pieces is None:
            return False
        found = wanted = 0
        for piece in record.pieces:
            findings.bytes += piece.length
            if self.block_size and 0 < piece.size <= self.block_size and piece.length:
                wanted += 1
                found += self._has_single(piece.id, piece.size)
                continue
            blocks = self._blocks(piece)
            wanted += len(blocks)
            found += sum(cachefiles.is_present(self.trees, block) for block in blocks)
        findings.expected += wanted
        findings.present += found
        return found == wanted

    def _has_single(self, id_: int, size: int) -> bool:
        """Look for the only block of a piece, first as it usually is: most files are like that, and there are many."""
        thousands = id_ // 1000
        place = f"/chunks/{thousands // 1000}/{thousands}/{id_}_0_{size}"
        for root in self._roots:
            try:
                if is_whole(size, os.lstat(root + place).st_size):
                    return True
            except (FileNotFoundError, NotADirectoryError):
                continue
        return cachefiles.is_present(self.trees, Block(id_, 0, size))

    def _blocks(self, piece: Slice) -> list[Block]:
        if self.block_size is None and (first := self._first(piece)):
            if first.size == piece.size:
                return [first]
            self.block_size = first.size
        return list(blocks_of(piece, self.block_size or USUAL_BLOCK_SIZE))

    def _first(self, piece: Slice) -> Block | None:
        """Find the first block by the names that it can have: less than all is as large as blocks are."""
        return next((block for block in first_blocks(piece) if cachefiles.is_present(self.trees, block)), None)


def shown(path: bytes) -> str:
    """Give a path as text, whatever bytes it has."""
    return os.fsdecode(path).encode(errors="backslashreplace").decode()
