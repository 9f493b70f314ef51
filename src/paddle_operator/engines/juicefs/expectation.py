"""What must be in the cache after a warm-up: the pieces of each file, kept on disk."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from paddle_operator.engines.juicefs import control
from paddle_operator.engines.juicefs.blocks import Pieces, Slice, parse_pieces
from paddle_operator.engines.juicefs.metadata import Metadata
from paddle_operator.engines.juicefs.places import Directories, Found
from paddle_operator.engines.operations import LONGEST_NAME

LENGTH_BYTES = 4
# Records are written down and read so many at once.
FRAME = 1000
ASKED_AGAIN = 3
# In JSON, a control character would take six bytes.
VISIBLE = {code: f"\\x{code:02x}" for code in range(ord(" "))}
CUT = "…"


class Expected(msgspec.Struct, frozen=True, array_like=True):
    """A file, by its path below the root in bytes, and its pieces; None if it is not there."""

    path: bytes
    pieces: list[Slice] | None


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


def shown(path: bytes) -> str:
    """Give a path as text, whatever bytes it has, and however many: what is cut ends with a mark."""
    text = os.fsdecode(path).translate(VISIBLE).encode(errors="backslashreplace")
    if len(text) > LONGEST_NAME:
        return f"{text[: LONGEST_NAME - len(CUT.encode())].decode(errors='ignore')}{CUT}"
    return text.decode()
