"""What others ask the manager over HTTP: does it live, is it ready, what has it counted."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

OFF = "0"


@dataclass(frozen=True)
class Address:
    host: str | None
    port: int


def parse_address(text: str) -> Address | None:
    """Read `:8080`, `127.0.0.1:8080` or `[::1]:8080`; `0` or nothing means: do not listen."""
    if text in {"", OFF}:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 the largest port there is
        raise ValueError(f"{text!r} is no address: write :8080 or 127.0.0.1:8080, or 0 for none")
    return Address(host.strip("[]") or None, int(port))


def probes(missing: Callable[[], list[str]]) -> list[web.RouteDef]:
    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        if names := missing():
            return web.Response(status=503, text=f"not listed yet: {', '.join(names)}\n")
        return web.Response(text="ok\n")

    return [web.get("/healthz", alive), web.get("/readyz", ready)]


def metrics(registry: CollectorRegistry) -> list[web.RouteDef]:
    async def counted(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return [web.get("/metrics", counted)]


@contextlib.asynccontextmanager
async def serving(routes: dict[Address, list[web.RouteDef]]) -> AsyncIterator[dict[Address, int]]:
    """Answer at these addresses, and tell the port that each one got."""
    ports: dict[Address, int] = {}
    async with contextlib.AsyncExitStack() as stack:
        for address, handlers in routes.items():
            app = web.Application()
            app.add_routes(handlers)
            runner = web.AppRunner(app, access_log=None, handle_signals=False)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, address.host, address.port).start()
            ports[address] = runner.addresses[0][1]
        yield ports
