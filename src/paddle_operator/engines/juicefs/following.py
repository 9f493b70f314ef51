"""Reads blocks soon after they are fetched, while they are in memory: little is left to be read with the proof."""

import asyncio
import contextlib
import itertools
import threading
from asyncio import Task
from collections.abc import AsyncIterator

from paddle_operator.engines.juicefs import expectation
from paddle_operator.engines.juicefs.fetching import Place
from paddle_operator.engines.juicefs.identity import Identity
from paddle_operator.engines.juicefs.listing import BATCH, Listing
from paddle_operator.engines.juicefs.search import search_of

PAUSE = 2.0


@contextlib.asynccontextmanager
async def followed(place: Place, listing: Listing, volume: Task[Identity]) -> AsyncIterator[None]:
    """Read what turns up, until this ends; what was not read then is read with the proof."""
    over = threading.Event()

    async def begin() -> None:
        await asyncio.to_thread(follow, place, await volume, listing, over)

    following = asyncio.create_task(begin())
    try:
        yield
        over.set()
        await following
    finally:
        over.set()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def follow(place: Place, volume: Identity, listing: Listing, over: threading.Event) -> None:
    """Go through the list behind its writer, about as JuiceFS does."""
    records, given, left = expectation.read(place.expected), 0, list[expectation.Expected]()
    while not over.is_set():
        fresh = list(itertools.islice(records, min(BATCH - len(left), listing.files - given)))
        given += len(fresh)
        search = search_of(place.caches, place.ledgers, Identity(volume.uuid, listing.block_size))
        left = search.learn([*left, *fresh], over.is_set)
        if left or not fresh:
            over.wait(PAUSE)
