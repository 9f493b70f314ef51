"""The end of a server: nobody new, and none whom it has just let in is overlooked."""

import asyncio

from aiohttp import web

# From what the kernel has accepted asyncio makes a connection in three turns of its loop.
TURNS = 5


async def close_doors(runner: web.BaseRunner) -> None:
    """Let nobody in any more, wait until those who were let in are known as connections, and only then lock.

    asyncio loses the socket of whoever is let in while a server closes.
    """
    sites = list(runner.sites)
    for site in sites:
        turn_away(site)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    for site in sites:
        await site.stop()


def turn_away(site: web.BaseSite) -> None:
    server = site._server  # nothing else leads to its sockets
    assert isinstance(server, asyncio.Server)
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())


async def close(runner: web.BaseRunner) -> None:
    await close_doors(runner)
    await runner.cleanup()
