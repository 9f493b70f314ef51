"""A warm-up and its proof: JuiceFS also says that all is well when objects are missing, so each block is looked for."""

import asyncio
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

from paddle_operator.engines.juicefs import cachefiles, command, expectation, flags, identity, selection
from paddle_operator.engines.juicefs.expectation import Expected, Findings, Search
from paddle_operator.engines.juicefs.listing import BATCH, Listing
from paddle_operator.engines.operations import Progress, Result, WarmupOrder
from paddle_operator.engines.runtime import OperationError, Told

ROUNDS = 3
# The client writes blocks to the cache a while after it has read them.
SETTLING = 0.1
READ_SIZE = 4 << 20


@dataclass(frozen=True)
class Place:
    """Where the data is mounted and cached, and a directory of our own for lists."""

    mount: Path
    caches: tuple[Path, ...]
    scratch: Path

    @property
    def expected(self) -> Path:
        return self.scratch / "expected"

    @property
    def missing(self) -> Path:
        return self.scratch / "missing"


async def warm_up(place: Place, order: WarmupOrder, told: Told) -> Result:
    """Bring the files into the cache; succeed only if all of their blocks are there at the end."""
    if not place.caches:
        raise OperationError("this server has no cache directories, so it cannot tell what is cached: see --cache-dirs")
    volume = await asyncio.to_thread(identity.identify, place.mount, place.caches)
    place.expected.write_bytes(b"")
    listing = Listing(place.mount, place.expected)
    writer = asyncio.create_task(listing.write(selection.selected(place.mount, order)))
    fetched, size = 0, 0
    try:
        async for batch in listing.batches(writer):
            await fetch(place, batch, order.threads)
            fetched += len(batch)
            size += sum(piece.length for record in batch for piece in record.pieces or ())
            told(Progress(fetched, listing.files, size, listing.bytes))
    finally:
        writer.cancel()
    return judged(await proved(place, order, volume))


async def fetch(place: Place, records: list[Expected], threads: int | None) -> None:
    """Have JuiceFS bring files into the cache; those that its lists cannot name are read instead."""
    there = [record.path for record in records if record.pieces]
    if plain := [path for path in there if is_listable(path)]:
        root, names = os.fsencode(place.mount), place.scratch / "names"
        names.write_bytes(b"".join(b"%b/%b\n" % (root, path) for path in plain))
        ended = await command.run(flags.warm_up(str(names), threads))
        if ended.code:
            raise OperationError(f"juicefs warmup failed: {ended.complaint}")
    for path in there:
        if not is_listable(path):
            await asyncio.to_thread(read_whole, place.mount / os.fsdecode(path))


def is_listable(path: bytes) -> bool:
    """Tell whether a line of a list can be this path: lines are trimmed."""
    text = path.decode(errors="replace")
    return "\n" not in text and text.strip() == text


def read_whole(path: Path) -> None:
    """Read a file; what cannot be read is found missing later."""
    try:
        with path.open("rb") as file:
            while file.read(READ_SIZE):
                pass
    except OSError:
        return


async def proved(place: Place, order: WarmupOrder, volume: identity.Identity) -> Findings:
    """Look for every block at the end of all; fetch again what stays missing, and look for every block again."""
    for left in reversed(range(ROUNDS)):
        search = Search(tuple(cachefiles.raw_trees(place.caches, volume.uuid)), volume.block_size)
        findings = await asyncio.to_thread(search.look, expectation.read(place.expected), place.missing)
        if not findings.missing_files:
            break
        if await settled(place, search, findings.missing_files) and left:
            await fetch_again(place, search, order)
        else:
            findings = await asyncio.to_thread(search.look, expectation.read(place.expected), place.missing)
            if not findings.missing_files:
                break
    return findings


async def settled(place: Place, search: Search, missing: int) -> int:
    """Wait as long as blocks that were missing keep turning up, and tell of how many files some are still missing."""
    later = place.scratch / "later"
    while True:
        await asyncio.sleep(SETTLING)
        findings = await asyncio.to_thread(search.look, expectation.read(place.missing), later)
        later.replace(place.missing)
        if findings.missing_files in {0, missing}:
            return findings.missing_files
        missing = findings.missing_files


async def fetch_again(place: Place, search: Search, order: WarmupOrder) -> None:
    await asyncio.to_thread(search.discard_cut, expectation.read(place.missing))
    await asyncio.to_thread(expectation.renew, place.mount, place.expected, place.missing)
    missing = expectation.read(place.missing)
    while batch := list(itertools.islice(missing, BATCH)):
        await fetch(place, batch, order.threads)


def judged(findings: Findings) -> Result:
    result = Result(
        files=findings.files,
        bytes=findings.bytes,
        expected_blocks=findings.expected,
        present_blocks=findings.present,
        missing_files=findings.missing_files,
        missing=tuple(findings.missing),
    )
    if findings.missing_files:
        raise OperationError(
            f"{findings.missing_files} of {findings.files} files are not wholly cached:"
            f" {findings.present} of {findings.expected} blocks are there."
            " Either objects are missing in the store, or the cache has no room for them",
            result,
        )
    return result
