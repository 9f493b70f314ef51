"""A runtime server that speaks the interface and does nothing: operations end as the test says."""

import asyncio
import contextlib
import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from paddle_operator.engines.operations import (
    Operation,
    OperationState,
    Order,
    Progress,
    Result,
    SyncOrder,
    without_credentials,
)
from paddle_operator.engines.reports import Cache, Data, Report
from support.closing import close

SHARE = 100
HEARTBEAT = 10.0


@dataclass
class Spool:
    """What stays on a node when a server goes: operations, their orders, and the cache."""

    operations: dict[str, Operation] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    cached: int = 0
    cache: str = "first"

    def give_up(self) -> None:
        """Be emptied where no server is: the blocks go, and the cache's name with them."""
        self.cached, self.cache = 0, f"{self.cache}-emptied"

    def lose(self) -> None:
        """Lose everything, as the memory of a node does."""
        self.operations.clear()
        self.orders.clear()
        self.cached, self.cache = 0, f"{self.cache}-lost"


class FakeRuntime:
    """`endings`: how operations of a type end, at once; those of a type that is not in it run on."""

    def __init__(self, spool: Spool, token: Callable[[], str], endings: dict[str, OperationState]) -> None:
        self.spool = spool
        self.endings = endings
        self.mounted = True
        # The size of its disk, and what others have there.
        self.capacity, self.taken = 1000, 0
        self.host, self.port = "127.0.0.1", 0
        self.refused = 0
        self.credentials: list[object] = []
        # What orders of these types are answered with, instead of being taken.
        self.refusals: dict[str, str] = {}
        self.streams = 0
        self._token = token
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application(middlewares=[self._authenticated])
        app.add_routes(
            [
                web.put("/v1/operations/{id}", self._put),
                web.delete("/v1/operations/{id}", self._cancel),
                web.get("/v1/watch", self._watch),
            ],
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await close(self._runner)
            self._runner = None

    @property
    def report(self) -> Report:
        held, size = self.spool.cached, self.capacity
        cache = Cache(
            held, 0, hits=3, misses=1, capacity=size, free=size - held - self.taken, identity=self.spool.cache
        )
        operations = tuple(self.spool.operations.values())
        return Report("juicefs", "0.14.2", self.mounted, "", Data(300, 3), cache, operations)

    def change(self) -> None:
        """Tell everybody who listens."""
        self._changed.set()
        self._changed = asyncio.Event()

    def restart(self) -> None:
        """Forget the keys, as a server that was started again has."""
        for name, found in self.spool.operations.items():
            if not found.state.is_final:
                self.spool.operations[name] = msgspec.structs.replace(found, needs_credentials=True)
        self.change()

    def end(self, prefix: str, state: OperationState, message: str = "", result: Result | None = None) -> None:
        """End the operations that run and whose ids begin so."""
        for name, found in self.spool.operations.items():
            if name.startswith(prefix) and not found.state.is_final:
                self.spool.operations[name] = msgspec.structs.replace(
                    found, state=state, message=message, end_time=now(), result=result
                )
        self._go_on()
        self.change()

    @web.middleware
    async def _authenticated(
        self, request: web.Request, handler: Callable[[web.Request], object]
    ) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self._token()}":
            self.refused += 1
            raise web.HTTPUnauthorized(text="give the token")
        answer = await handler(request)  # type: ignore[misc]  # a handler's answer is awaited
        assert isinstance(answer, web.StreamResponse)
        return answer

    async def _put(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        given = msgspec.json.decode(await request.read(), type=Order)
        if (sentence := self.refusals.get(str(given.__struct_config__.tag))) is not None:
            return web.json_response({"error": sentence}, status=422)
        if isinstance(given, SyncOrder):
            self.credentials.append(msgspec.to_builtins(given.credentials) if given.credentials else None)
        order = without_credentials(given)
        known = self.spool.operations.get(name)
        if known is not None and self.spool.orders[name] != order:
            raise web.HTTPConflict(text="this id has another order")
        if known is None:
            known = Operation(name, str(given.__struct_config__.tag), order_time=now())
            self.spool.begun.append(name)
            self.spool.orders[name] = order
        elif known.needs_credentials:
            known = msgspec.structs.replace(known, needs_credentials=False)
        self.spool.operations[name] = known
        self._go_on()
        self.change()
        return web.json_response(json.loads(msgspec.json.encode(self.spool.operations[name])), status=202)

    def _go_on(self) -> None:
        """Begin what is next, one operation at a time."""
        for name, found in self.spool.operations.items():
            if found.state is OperationState.QUEUED:
                self.spool.operations[name] = self._begun(found)
            if not self.spool.operations[name].state.is_final:
                return

    def _begun(self, operation: Operation) -> Operation:
        state = self.endings.get(operation.type, OperationState.RUNNING)
        if state is OperationState.SUCCEEDED and operation.type in ("warmup", "clear"):
            self.spool.cached = SHARE if operation.type == "warmup" else 0
        message = "" if state is not OperationState.FAILED else "no such bucket"
        ended = now() if state.is_final else None
        return msgspec.structs.replace(operation, state=state, message=message, start_time=now(), end_time=ended)

    async def _cancel(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if name not in self.spool.operations:
            return web.json_response({"error": "there is no such operation"}, status=404)
        self.end(name, OperationState.CANCELLED)
        return web.json_response(json.loads(msgspec.json.encode(self.spool.operations[name])))

    def tell(self, prefix: str, progress: Progress) -> None:
        """Say how far the operations are that run and whose ids begin so."""
        for name, found in self.spool.operations.items():
            if name.startswith(prefix) and not found.state.is_final:
                self.spool.operations[name] = msgspec.structs.replace(found, progress=progress)
        self.change()

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        self.streams += 1
        with contextlib.suppress(ConnectionResetError):
            await response.prepare(request)
            while True:
                changed = self._changed
                await response.write(msgspec.json.encode(self.report) + b"\n\n")
                while not changed.is_set():
                    await self._wait(changed, response)
        return response

    async def _wait(self, changed: asyncio.Event, response: web.StreamResponse) -> None:
        try:
            await asyncio.wait_for(changed.wait(), HEARTBEAT)
        except TimeoutError:
            await response.write(b"\n")


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
