"""Tells how far an operation is, again and again while it works."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from paddle_operator.engines.operations import Progress
from paddle_operator.engines.runtime import Told

LOOKING = 1.0


@contextlib.asynccontextmanager
async def watched(look: Callable[[], Progress], told: Told) -> AsyncIterator[None]:
    """Look, and tell what was seen, as long as this lasts; a mount that does not answer is looked at no more."""

    async def go_on() -> None:
        while True:
            await asyncio.sleep(LOOKING)
            told(await asyncio.to_thread(look))

    looking = asyncio.create_task(go_on())
    try:
        yield
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await looking
