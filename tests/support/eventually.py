"""Waiting for something to become true in the same event loop."""

import asyncio
from collections.abc import Callable

PAUSE = 0.005


async def eventually(condition: Callable[[], object], timeout: float = 90.0) -> None:  # noqa: ASYNC109 said in words
    """Ask again and again, with an end; what the condition is shows in the trace."""
    deadline = asyncio.get_running_loop().time() + timeout
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not become true in time"
        await asyncio.sleep(PAUSE)
