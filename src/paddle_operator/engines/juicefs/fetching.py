"""Has JuiceFS bring files into the cache: whole directories as it finds them, or files by lists."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from paddle_operator.engines.juicefs import command, counters, flags, places
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.places import PlaceError
from paddle_operator.engines.runtime import OperationError

READ_SIZE = 4 << 20
# The command hands a list over in one piece, and the kernel takes no piece of more than 128 KiB.
LARGEST_LIST = 120 << 10
LOOKING = 1.0
# The client writes blocks to the cache a while after it has read them.
WRITING = 0.005


@dataclass(frozen=True)
class Place:
    """Where the data is mounted and cached, and directories of our own, for lists and for what must outlive us.

    `metadata`: a file with the address of the volume's metadata.
    """

    mount: Path
    caches: tuple[Path, ...]
    scratch: Path
    ledgers: Path
    metadata: Path | None = None

    @property
    def expected(self) -> Path:
        return self.scratch / "expected"

    @property
    def missing(self) -> Path:
        return self.scratch / "missing"


async def fetch(place: Place, records: list[Expected], threads: int | None) -> None:
    """Bring files into the cache; those that JuiceFS' lists cannot name are read instead."""
    there = [record.path for record in records if record.pieces]
    await fetch_named(place, [path for path in there if is_listable(path)], threads)
    for path in there:
        if not is_listable(path):
            await asyncio.to_thread(read_whole, place.mount, PurePosixPath(os.fsdecode(path)))


async def fetch_named(place: Place, paths: Iterable[bytes], threads: int | None) -> None:
    """Bring files, and directories with all below them, into the cache."""
    root, names = os.fsencode(place.mount), place.scratch / "names"
    for part in handed_over(paths):
        names.write_bytes(b"".join(b"%b/%b\n" % (root, path) for path in part))
        ended = await command.run(flags.warm_up(str(names), threads))
        if ended.code:
            raise OperationError(f"juicefs warmup failed: {ended.complaint}")


def handed_over(paths: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Give as many at a time as the client takes: of a longer list it takes nothing, and the command says nothing."""
    part, size = list[bytes](), 0
    for path in paths:
        added = len(path) + len(b"/\n")
        if part and size + added > LARGEST_LIST:
            yield part
            part, size = [], 0
        part.append(path)
        size += added
    if part:
        yield part


def is_listable(path: bytes) -> bool:
    """Tell whether a line of a list can be this path: lines are trimmed."""
    text = path.decode(errors="replace")
    return "\n" not in text and text.strip() == text


def read_whole(mount: Path, path: PurePosixPath) -> None:
    """Read a file; what cannot be read is found missing later."""
    with (
        contextlib.suppress(OSError, PlaceError),
        open(places.file(mount, path), "rb") as file,  # noqa: PTH123 it is open already
    ):
        while file.read(READ_SIZE):
            pass


async def written(mount: Path) -> int:
    """Give how much the client has written to the cache since it began."""
    with contextlib.suppress(OSError):
        return (await asyncio.to_thread(counters.read, mount)).get(counters.CACHED, 0)
    return 0


async def growth(mount: Path) -> AsyncIterator[int]:
    """Tell again and again how much has been written to the cache from now on."""
    before = await written(mount)
    while True:
        await asyncio.sleep(LOOKING)
        yield max(await written(mount) - before, 0)


async def written_out(mount: Path) -> None:
    """Wait until the client has nothing more to write to the cache; what it dropped is found missing later."""
    before, now = -1, await written(mount)
    while before != now:
        await asyncio.sleep(WRITING)
        before, now = now, await written(mount)
