"""Serves the embedded API over HTTP on a loopback port, to whoever has its token."""

import asyncio
import contextlib
import secrets
import socket
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec
from aiohttp import web

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.embedded.apiserver import channels, discovery, openapi, openapiv2, refusals, streams, tables
from paddle_operator.embedded.apiserver.calls import Call, Place, place_of
from paddle_operator.embedded.apiserver.channels import Asked
from paddle_operator.embedded.apiserver.deletion import NAMESPACES
from paddle_operator.embedded.apiserver.garbage import Collector
from paddle_operator.embedded.apiserver.lists import page
from paddle_operator.embedded.apiserver.objects import Objects, Options
from paddle_operator.embedded.apiserver.refusals import RefusedError
from paddle_operator.embedded.apiserver.resources import Catalogue, Resource, builtin, defined
from paddle_operator.embedded.apiserver.storage import Storage
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed
from paddle_operator.kube.request import PODS

HOST = "127.0.0.1"
LARGEST_BODY = 3 * 1024 * 1024
FIRST_NAMESPACES = ("default", "kube-system")
# kubectl sends a token over TLS only; as a part of the address it is sent by all.
TOKEN_PATH = "/token/"  # noqa: S105  # the path before it
LOG, EXEC = "log", "exec"
# Gives what a container printed, piece by piece: of a pod, as it is asked for.
Logs = Callable[[Manifest, Mapping[str, str]], Awaitable[AsyncIterator[bytes]]]
# Begins a command in a container of a pod, as it is asked for.
Commands = Callable[[Manifest, Asked], Awaitable[Process]]


class Server:
    """`objects` is the way to the same objects from inside of the process."""

    def __init__(self, definitions: Iterable[Manifest] = (), storage: Storage | None = None) -> None:
        self.catalogue = Catalogue([*builtin(), *map(defined, definitions)])
        self.objects = Objects(storage or Storage(), self.catalogue)
        self.token = secrets.token_urlsafe(32)
        self.port = 0
        self.logs: Logs | None = None
        self.commands: Commands | None = None
        self._collector = Collector(self.objects)
        self._ended = asyncio.Event()
        for name in FIRST_NAMESPACES:
            self._ensure_namespace(name)

    @property
    def config(self) -> Config:
        """Give the way to it for a client."""
        return Config(f"http://{HOST}:{self.port}", Fixed(self.token))

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0, beside: socket.socket | None = None) -> AsyncIterator["Server"]:
        """Serve on a port of this process's network, and on a socket that may be of another."""
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        collecting = asyncio.create_task(self._collector.run())
        try:
            await web.TCPSite(runner, HOST, port).start()
            self.port = runner.addresses[0][1]
            if beside is not None:
                await web.SockSite(runner, beside).start()
            yield self
        finally:
            self._ended.set()
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)
            await runner.cleanup()

    def _ensure_namespace(self, name: str) -> None:
        resource = self.catalogue.at("", "v1", NAMESPACES.plural)
        if resource is not None and self.objects.storage.find(NAMESPACES, Key("", name)) is None:
            self.objects.create(resource, "", {"metadata": {"name": name}}, Options("embedded"))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request, self._path(request))
        except RefusedError as refused:
            return answer(refused.status, refused.code)
        except web.HTTPRequestEntityTooLarge:
            return answer(refusals.too_large().status, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def _path(self, request: web.Request) -> str:
        """Give what is asked for, without the token that may stand before it; refuse who has none."""
        given, path = request.headers.get("Authorization", ""), request.path
        if path.startswith(TOKEN_PATH):
            token, _, path = path.removeprefix(TOKEN_PATH).partition("/")
            given, path = f"Bearer {token}", f"/{path}"
        if not secrets.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            raise refusals.unauthorized()
        return path

    async def _answer(self, request: web.Request, path: str) -> web.StreamResponse:
        told = self._told(path) if request.method == "GET" else None
        if told is not None:
            return told
        place = place_of(path)
        resource = place and self.catalogue.at(place.group, place.version, place.plural)
        if place is None or resource is None or not self._is_served(place, resource):
            raise refusals.no_such_path()
        if place.subresource == EXEC and self.commands is not None:
            return await self._execute(request, self.commands, Key(place.namespace, place.name))
        call = Call(place, resource, request.method, request.query, request.content_type, await request.read())
        if request.method != "GET":
            return self._write(call)
        return await self._asked(request, call)

    async def _asked(self, request: web.Request, call: Call) -> web.StreamResponse:
        resource = call.resource
        if call.place.subresource == LOG and self.logs is not None:
            pieces = await self.logs(self.objects.storage.get(resource.kind, call.key), request.query)
            return await self._stream(request, pieces, "text/plain")
        if call.watches:
            lines = streams.lines(self.objects.storage, call.watch)
            tabled = tables.lines(resource, lines) if _wants_table(request) else lines
            return await self._stream(request, tabled, "application/json")
        return self._read(call, as_table=_wants_table(request))

    async def _execute(self, request: web.Request, commands: Commands, key: Key) -> web.StreamResponse:
        pod = self.objects.storage.get(PODS, key)
        return await channels.carry(request, lambda asked: commands(pod, asked))

    def _told(self, path: str) -> web.Response | None:
        """Give what the server says of itself."""
        if path in ("/healthz", "/livez", "/readyz"):
            return web.Response(text="ok")
        if path == openapiv2.ASKED:
            return web.Response(body=openapiv2.document(self.catalogue), content_type=openapiv2.CONTENT_TYPE)
        told = discovery.document(self.catalogue, path) or openapi.document(self.catalogue, path)
        return None if told is None else answer(told)

    def _is_served(self, place: Place, resource: Resource) -> bool:
        if resource.kind.namespaced and place.name and not place.namespace:
            return False
        if place.subresource in (LOG, EXEC):
            return (self.logs if place.subresource == LOG else self.commands) is not None and resource.kind == PODS
        return not place.subresource or (place.subresource == "status" and resource.has_status)

    def _write(self, call: Call) -> web.Response:
        options = call.options
        written, code = call.carry_out(self.objects, options)
        response = answer(written, code)
        for warning in options.warnings:
            response.headers.add("Warning", f'299 - "{warning.replace(chr(34), chr(92) + chr(34))}"')
        return response

    def _read(self, call: Call, *, as_table: bool) -> web.Response:
        storage, resource = self.objects.storage, call.resource
        if call.place.name:
            found = storage.get(resource.kind, call.key)
            items, metadata = [found], {"resourceVersion": found["metadata"]["resourceVersion"]}
        else:
            found = page(storage, resource, call.selector, call.query)
            items, metadata = found["items"], found["metadata"]
        return answer(tables.table(resource, items, metadata, datetime.now(UTC)) if as_table else found)

    async def _stream(
        self, request: web.Request, pieces: AsyncIterator[bytes], content_type: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
        await response.prepare(request)
        # Somebody who only reads must not keep the server from ending.
        ended = asyncio.create_task(self._ended.wait())
        sending = asyncio.create_task(_send(response, pieces))
        try:
            await asyncio.wait([ended, sending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (ended, sending):
                task.cancel()
            await asyncio.gather(ended, sending, return_exceptions=True)
        return response


def _wants_table(request: web.Request) -> bool:
    return "as=Table" in request.headers.get("Accept", "")


async def _send(response: web.StreamResponse, lines: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(ConnectionError):
        async for line in lines:
            await response.write(line)


def answer(body: Manifest, code: int = HTTPStatus.OK) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=int(code), content_type="application/json")
