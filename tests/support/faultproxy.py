"""A reverse proxy in front of any API server that does to clients what networks and servers do."""

import asyncio
import contextlib
import io
import json
import socket
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import aiohttp
from aiohttp import web
from aiohttp.connector import AddrInfoType
from multidict import CIMultiDict
from yarl import URL

from paddle_operator.embedded.apiserver.calls import Place, place_of
from paddle_operator.kube.config import Config
from paddle_operator.kube.connection import once
from paddle_operator.kube.credentials import Fixed
from support.closing import close_doors
from support.mishaps import (
    EXPIRED_INSIDE,
    NO_CHANCE,
    READING,
    WRITING,
    Chance,
    Expiry,
    Fault,
    Mishap,
    is_watch,
    reset,
)
from support.stream import Stream

# What concerns one connection only, and the name that the proxy is called by.
NOT_PASSED_ON = {"connection", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
LONGEST_GOODBYE = 5.0
NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
# What a path addresses that is of no object.
NOWHERE = Place("", "", "", "", "", "")


class FaultProxy:
    """`writes` are those that the server answered, as "PATCH configmaps/ada-0"; `struck` is what went wrong so far."""

    def __init__(self, upstream: Config) -> None:
        self.requests: Counter[str] = Counter()
        self.writes: list[str] = []
        self.after_write: Callable[[str], None] = lambda _: None
        self.faults: list[Fault | Expiry] = []
        self.struck: list[Mishap] = []
        self._chance = NO_CHANCE
        self._upstream = upstream
        self._streams: list[Stream] = []
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._handlers: set[asyncio.Task[object]] = set()
        self._server: web.Server | None = None
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._port = 0

    @property
    def config(self) -> Config:
        return Config(f"http://127.0.0.1:{self._port}", Fixed(), namespace=self._upstream.namespace)

    async def start(self) -> None:
        """Listen; after a `stop` on the same port as before."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=self._socket),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=NOT_ADDED,
            middlewares=(once,),
        )
        self._server = web.Server(self._handle, handler_cancellation=True, auto_decompress=False, access_log=None)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Go away: nobody listens, and every connection is reset."""
        if self._runner is None or self._server is None or self._session is None:
            return
        await close_doors(self._runner)
        for connection in self._server.connections:
            reset(connection.transport)
        await asyncio.gather(*self._handlers, return_exceptions=True)
        await self._runner.cleanup()
        await self._session.close()
        await self._hang_up()
        self._runner = self._server = self._session = None

    def _socket(self, address: AddrInfoType) -> socket.socket:
        made = socket.socket(*address[:3])
        self._sockets.add(made)
        return made

    async def _hang_up(self) -> None:
        """End what was given up half-way: there TLS still waits for the server's goodbye."""
        async with asyncio.timeout(LONGEST_GOODBYE):
            while left := [found for found in self._sockets if found.fileno() != -1]:
                for found in left:
                    with contextlib.suppress(OSError):  # the server may have been quicker
                        found.shutdown(socket.SHUT_RDWR)
                await asyncio.sleep(0.001)

    # Faults.

    def fail(self, method: str, part: str, times: int, code: int, reason: str = "", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append(Fault(method, part, times, Mishap(code, reason, named)))

    def fail_writes(self, share: float, mishaps: Sequence[Mishap] = tuple(WRITING.values()), seed: int = 1) -> None:
        """Let a share of all writes go wrong from now on; 0 ends it."""
        self._chance = Chance(share, mishaps, seed)

    def forget_before(self, version: str, mishap: Mishap = EXPIRED_INSIDE) -> None:
        """Let no watch begin before this version any more, as if etcd had been compacted."""
        self.faults.append(Expiry(int(version), mishap))

    @property
    def watches(self) -> list[Stream]:
        """Give those that are open."""
        return [stream for stream in self._streams if stream.is_watch and not stream.is_cut]

    def cut_watches(self) -> None:
        for watch in self.watches:
            watch.cut()

    def end_watches(self) -> None:
        """End them in order, as a server does when their time is over."""
        for watch in self.watches:
            watch.end()

    def freeze_watches(self) -> None:
        """Say nothing more in those that are open, not even goodbye: as when the other machine has vanished."""
        for watch in self.watches:
            watch.flowing.clear()

    def freeze(self) -> None:
        """Say nothing more to anybody, pass nothing on, and still let everybody connect."""
        self._flowing.clear()
        for stream in self._streams:
            stream.flowing.clear()

    def thaw(self) -> None:
        """Go on where it froze; nothing is lost."""
        self._flowing.set()
        for stream in self._streams:
            stream.flowing.set()

    def send(self, plural: str, line: bytes) -> None:
        for watch in self.watches:
            if watch.place.plural == plural:
                watch.send(line)

    def bookmark(self, plural: str, version: str) -> None:
        mark = {"metadata": {"resourceVersion": version}}
        self.send(plural, json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n")

    # The proxy.

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)
        self.requests[request.method] += 1
        body = await request.content.read()
        await self._flowing.wait()
        mishap = self._mishap(request)
        if mishap is not None and not mishap.after:
            return mishap.answer(request)
        try:
            return await self._forward(request, body, mishap)
        except aiohttp.ClientError:
            return Mishap().answer(request)

    def _mishap(self, request: web.BaseRequest) -> Mishap | None:
        struck = next((fault.mishap for fault in self.faults if fault.strikes(request)), None)
        struck = struck or self._chance.strike(request)
        if struck is not None:
            self.struck.append(struck)
        return struck

    async def _forward(self, request: web.BaseRequest, body: bytes, mishap: Mishap | None) -> web.StreamResponse:
        assert self._session is not None
        proof = await self._upstream.credentials.proof()
        async with self._session.request(
            request.method,
            URL(self._upstream.server + request.raw_path, encoded=True),
            data=io.BytesIO(body) if body else None,  # as bytes, a large one is warned about
            headers=passed_on(request.headers, proof.headers),
            ssl=self._upstream.tls.context(proof.pair) if self._upstream.tls else True,
            server_hostname=self._upstream.tls_server_name,
            allow_redirects=False,
        ) as answer:
            self._note(request, body)
            if mishap is None:
                return await self._pass_on(request, answer)
            await answer.read()
        await self._flowing.wait()
        return mishap.answer(request)

    def _note(self, request: web.BaseRequest, body: bytes) -> None:
        if request.method in READING:
            return
        place = place_of(request.path) or NOWHERE
        name = place.name or json.loads(body).get("metadata", {}).get("name", "")
        part = f"/{place.subresource}" if place.subresource else ""
        self.writes.append(f"{request.method} {place.plural}/{name}{part}")
        self.after_write(self.writes[-1])

    async def _pass_on(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        stream = Stream(place_of(request.path) or NOWHERE, request.transport, is_watch=is_watch(request))
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=passed_on(answer.headers))
        reading = asyncio.create_task(stream.read(answer.content))
        self._streams.append(stream)
        try:
            await self._flowing.wait()
            await response.prepare(request)
            while (piece := await stream.next()) is not None:
                await response.write(piece)
        finally:
            self._streams.remove(stream)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return Mishap().answer(request) if stream.is_broken else response


def passed_on(headers: Mapping[str, str], added: Mapping[str, str] | None = None) -> CIMultiDict[str]:
    kept = CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in NOT_PASSED_ON)
    kept.update(added or {})
    return kept


@contextlib.asynccontextmanager
async def running(upstream: Config) -> AsyncIterator[FaultProxy]:
    proxy = FaultProxy(upstream)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
