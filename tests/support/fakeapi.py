"""A small API server in the process, with faults on demand, for the real client and the real loop."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from aiohttp import web

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed
from support.fakeobjects import Objects, RefusedError, matches
from support.paths import Place, place_of


@dataclass
class Fault:
    """Answers in place of the server, so often, to requests of this method and path."""

    method: str
    part: str
    times: int
    code: int
    reason: str
    headers: dict[str, str]

    def strikes(self, request: web.Request) -> bool:
        return self.times > 0 and request.method == self.method and self.part in request.path_qs


class OpenWatch:
    def __init__(self, place: Place, labels: str, transport: asyncio.Transport) -> None:
        self.place = place
        self.labels = labels
        self.transport = transport
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.frozen = False

    def send(self, line: bytes | None) -> None:
        if not self.frozen:
            self.lines.put_nowait(line)


class FakeApi:
    def __init__(self) -> None:
        self.objects = Objects()
        self.requests: Counter[str] = Counter()
        self.writes: list[str] = []
        self.watches: list[OpenWatch] = []
        self.faults: list[Fault] = []
        self.expire_by_event = True
        self.after_write: Callable[[str], None] = lambda _: None
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def config(self) -> Config:
        return Config(f"http://127.0.0.1:{self._port}", Fixed("secret"))

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        self.cut_watches()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # What a test does to the world behind the manager's back.

    def put(self, plural: str, manifest: Manifest) -> Manifest:
        key = key_of(manifest)
        if (plural, key) in self.objects.objects:
            return self._published(lambda: self.objects.merge(plural, key, manifest))
        return self._published(lambda: self.objects.create(plural, manifest))

    def remove(self, plural: str, key: Key) -> None:
        self._published(lambda: self.objects.delete(plural, key, {}))

    def names(self, plural: str) -> list[str]:
        return [key.name for found, key in sorted(self.objects.objects) if found == plural]

    def get(self, plural: str, namespace: str, name: str) -> Manifest:
        return self.objects.get(plural, Key(namespace, name))

    # Faults.

    def fail(self, method: str, part: str, times: int, code: int, reason: str = "", **headers: str) -> None:
        self.faults.append(
            Fault(method, part, times, code, reason, {k.replace("_", "-"): v for k, v in headers.items()})
        )

    def cut_watches(self) -> None:
        for watch in self.watches:
            watch.transport.abort()
        self.watches.clear()

    def freeze_watches(self) -> None:
        """Leave the connections open and say nothing more: as when the other machine has vanished."""
        for watch in self.watches:
            watch.frozen = True

    def expire(self) -> None:
        """Forget the history, as etcd does when it compacts, and end the watches."""
        self.objects.forget_history()
        for watch in self.watches:
            watch.send(None)

    def send(self, plural: str, line: bytes) -> None:
        for watch in self.watches:
            if watch.place.plural == plural:
                watch.send(line)

    def bookmark(self, plural: str) -> None:
        mark = {"metadata": {"resourceVersion": str(self.objects.version)}}
        self.send(plural, json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n")

    # The server.

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests[request.method] += 1
        for fault in self.faults:
            if fault.strikes(request):
                fault.times -= 1
                status = {"kind": "Status", "code": fault.code, "reason": fault.reason}
                return web.json_response(status, status=fault.code, headers=fault.headers)
        try:
            return await self._answer(request, place_of(request.path))
        except RefusedError as error:
            return web.json_response(error.status, status=error.code)

    async def _answer(self, request: web.Request, place: Place) -> web.StreamResponse:
        if request.method == "GET":
            if request.query.get("watch"):
                return await self._watch(request, place)
            return web.json_response(self._read(request, place))
        body = json.loads(await request.read())
        written = self._published(lambda: self._write(request, place, body))
        self.writes.append(f"{request.method} {place.plural}/{place.name or body['metadata']['name']}")
        self.after_write(self.writes[-1])
        return web.json_response(written)

    def _write(self, request: web.Request, place: Place, body: Manifest) -> Manifest:
        key = Key(place.namespace, place.name)
        match request.method, request.content_type:
            case "POST", _:
                return self.objects.create(place.plural, body)
            case "PUT", _:
                return self.objects.replace(place.plural, body)
            case "DELETE", _:
                return self.objects.delete(place.plural, key, body)
            case "PATCH", "application/apply-patch+yaml":
                manager = f"{request.query['fieldManager']}/{place.subresource}".rstrip("/")
                return self.objects.apply(place.plural, key, body, manager)
            case "PATCH", "application/merge-patch+json":
                return self.objects.merge(place.plural, key, body)
        raise RefusedError(415, "UnsupportedMediaType")

    def _read(self, request: web.Request, place: Place) -> Manifest:
        if place.name:
            return self.objects.get(place.plural, Key(place.namespace, place.name))
        found = self.objects.select(place.plural, place.namespace, request.query.get("labelSelector", ""))
        start = int(request.query.get("continue", "0"))
        end = start + (int(request.query.get("limit", "0")) or len(found))
        metadata = {"resourceVersion": str(self.objects.version)}
        if end < len(found):
            metadata["continue"] = str(end)
        return {"kind": "List", "metadata": metadata, "items": found[start:end]}

    def _published(self, write: Callable[[], Manifest]) -> Manifest:
        before = len(self.objects.history)
        written = write()
        for change in self.objects.history[before:]:
            for watch in self.watches:
                place = watch.place
                inside = place.plural == change.plural and place.namespace in ("", key_of(change.manifest).namespace)
                if inside and matches(change.manifest, watch.labels):
                    watch.send(change.line)
        return written

    async def _watch(self, request: web.Request, place: Place) -> web.StreamResponse:
        since, labels = int(request.query["resourceVersion"]), request.query.get("labelSelector", "")
        if since < self.objects.kept_since and not self.expire_by_event:
            raise RefusedError(410, "Expired", "too old resource version")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if since < self.objects.kept_since:
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            await response.write(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
            return response
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        watch = OpenWatch(place, labels, transport)
        for change in self.objects.history:
            if change.version > since and change.plural == place.plural and matches(change.manifest, labels):
                watch.send(change.line)
        self.watches.append(watch)
        await self._follow(watch, response, float(request.query["timeoutSeconds"]))
        return response

    async def _follow(self, watch: OpenWatch, response: web.StreamResponse, seconds: float) -> None:
        try:
            async with asyncio.timeout(None if watch.frozen else seconds):
                while (line := await watch.lines.get()) is not None:
                    await response.write(line)
        except (TimeoutError, ConnectionError):
            if watch.frozen:  # the other machine does not even say goodbye
                await asyncio.Event().wait()
        finally:
            if watch in self.watches:
                self.watches.remove(watch)


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    await api.start()
    try:
        yield api
    finally:
        await api.stop()
