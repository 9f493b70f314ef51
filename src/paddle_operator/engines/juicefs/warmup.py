"""A warm-up and its proof: JuiceFS also says that all is well when objects are missing, so each block is looked for."""

import asyncio
import itertools
from asyncio import Task
from collections.abc import Iterator
from pathlib import Path

from paddle_operator.engines.juicefs import expectation, identity, places, selection
from paddle_operator.engines.juicefs.fetching import Place, fetch, fetch_named, growth, is_listable, written_out
from paddle_operator.engines.juicefs.identity import Identity
from paddle_operator.engines.juicefs.listing import BATCH, Listing
from paddle_operator.engines.juicefs.search import Findings, Search, search_of
from paddle_operator.engines.operations import Progress, Result, WarmupOrder
from paddle_operator.engines.runtime import OperationError, Told

ROUNDS = 3
SETTLING = 0.1
MOST_QUOTED = 3
UNREMEMBERED = "What blocks are like could not be remembered, so damage that keeps their length is not noticed"


async def warm_up(place: Place, order: WarmupOrder, told: Told) -> tuple[Result, str]:
    """Bring the files into the cache; succeed only if all of their blocks are there at the end."""
    if not place.caches:
        raise OperationError("this server has no cache directories, so it cannot tell what is cached: see --cache-dirs")
    place.expected.write_bytes(b"")
    volume = asyncio.create_task(asyncio.to_thread(identity.identify, place.mount, place.caches))
    listing = Listing(place.mount, place.expected)
    writer = asyncio.create_task(listing.write(order, place.metadata, volume))
    try:
        if selection.is_whole(order) and all(is_listable(bytes(top)) for top in selection.tops(order)):
            await fetch_whole(place, order, listing, told)
        else:
            await fetch_listed(place, order, listing, writer, told)
        await writer
        told(Progress(listing.files, listing.files, listing.bytes, listing.bytes))
        await written_out(place.mount)
        findings = await proved(place, order, Identity((await volume).uuid, listing.block_size))
        return judged(findings, listing.dealt_from)
    finally:
        writer.cancel()
        volume.cancel()


async def fetch_whole(place: Place, order: WarmupOrder, listing: Listing, told: Told) -> None:
    """Leave it to JuiceFS to find what is below the paths: it takes less time than to name every file."""
    tops = selection.tops(order)
    for top in tops:
        await asyncio.to_thread(places.status, place.mount, top)
    telling = asyncio.create_task(tell_growth(place.mount, listing, told))
    try:
        await fetch_named(place, map(bytes, tops), order.threads)
    finally:
        telling.cancel()


async def tell_growth(mount: Path, listing: Listing, told: Told) -> None:
    """Take what the client writes to the cache for what is fetched: exact numbers come at the end."""
    async for written in growth(mount):
        size = min(written, listing.bytes)
        files = listing.files * size // listing.bytes if listing.bytes else 0
        told(Progress(files, listing.files, size, listing.bytes))


async def fetch_listed(place: Place, order: WarmupOrder, listing: Listing, writer: Task[None], told: Told) -> None:
    fetched, size = 0, 0
    async for batch in listing.batches(writer):
        await fetch(place, batch, order.threads)
        fetched += len(batch)
        size += sum(piece.length for record in batch for piece in record.pieces or ())
        told(Progress(fetched, listing.files, size, listing.bytes))


async def proved(place: Place, order: WarmupOrder, volume: Identity) -> Findings:
    """Look for every block at the end of all; fetch again what stays missing, and look for every block again."""
    for left in reversed(range(ROUNDS)):
        search = search_of(place.caches, place.ledgers, volume)
        findings = await asyncio.to_thread(search.look, expectation.read(place.expected), place.missing)
        if not findings.missing_files:
            break
        if await settled(place, search, findings.missing_files) and left:
            await fetch_again(place, search, order)
        else:
            findings = await asyncio.to_thread(search.look, expectation.read(place.expected), place.missing)
            if not findings.missing_files:
                break
            await asyncio.to_thread(search.discard, expectation.read(place.missing))
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
    await asyncio.to_thread(search.discard, expectation.read(place.missing))
    await asyncio.to_thread(expectation.renew, place.mount, place.expected, place.missing)
    missing = expectation.read(place.missing)
    while batch := list(itertools.islice(missing, BATCH)):
        await fetch(place, batch, order.threads)


def judged(findings: Findings, dealt_from: str) -> tuple[Result, str]:
    result = Result(
        files=findings.files,
        bytes=findings.bytes,
        expected_blocks=findings.expected,
        present_blocks=findings.present,
        missing_files=findings.missing_files,
        missing=tuple(findings.missing),
        damaged_files=findings.damaged_files,
        damaged=tuple(findings.damaged),
        dealt_from=dealt_from,
    )
    if findings.missing_files:
        raise OperationError(". ".join(complaints(findings)), result)
    return result, f"{UNREMEMBERED}: {findings.trouble}" if findings.trouble else ""


def complaints(findings: Findings) -> Iterator[str]:
    yield (
        f"{findings.missing_files} of {findings.files} files are not wholly cached:"
        f" {findings.present} of {findings.expected} blocks are there"
    )
    if findings.missing_files > findings.damaged_files:
        yield "Either objects are missing in the store, or the cache has no room for them"
    if findings.damaged_files:
        some = ", ".join(map(ascii, findings.damaged[:MOST_QUOTED]))
        more = " …" if findings.damaged_files > MOST_QUOTED else ""
        yield (
            f"Of {findings.damaged_files} files the store gives bytes that are not those that were first read:"
            f" {some}{more}"
        )
    if findings.trouble:
        yield f"{UNREMEMBERED}: {findings.trouble}"
