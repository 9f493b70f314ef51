"""The end of a server: nobody new, and none whom it has just let in is overlooked."""

import asyncio

from aiohttp import web

# From what the kernel has accepted asyncio makes a connection in three turns of its loop.
TURNS = 5


async def close_doors(runner: web.BaseRunner) -> None:
    """Let nobody in any more, and wait until those who were let in are known as connections."""
    for site in list(runner.sites):
        await site.stop()
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def close(runner: web.BaseRunner) -> None:
    await close_doors(runner)
    await runner.cleanup()
