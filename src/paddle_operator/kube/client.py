"""Sends requests to the API server: with a time limit each, again where that is safe, and errors by their reason."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Self

import aiohttp
import msgspec
from aiohttp.connector import AddrInfoType

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import errors, request
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.config import Config
from paddle_operator.kube.request import Kind, Operations, Preconditions, Propagation, Request, Scope

TIMEOUT = 30.0
CONNECT_TIMEOUT = 10.0
TRIES = 4
RETRY = Backoff(first=0.2, longest=5.0)
LONGEST_RETRY_AFTER = 30.0
# A peer that vanished without a word is noticed by the kernel after about this many seconds.
SILENCE = 30


@dataclass(frozen=True)
class Listing:
    items: list[Manifest]
    resource_version: str


class Client:
    """All verbs of the API server for any kind; every write is made in the name of one field manager."""

    def __init__(self, config: Config, field_manager: str, timeout: float = TIMEOUT) -> None:
        self.config = config
        self.field_manager = field_manager
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, socket_factory=attentive_socket)
        self._session = aiohttp.ClientSession(connector=connector, headers={"User-Agent": self.field_manager})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, kind: Kind, key: Key) -> Manifest:
        return await self.send(request.get(kind, key))

    async def list(self, scope: Scope, page: int = request.PAGE) -> Listing:
        """Read page by page; where that takes longer than the pages are kept, read all at once."""
        try:
            return await self._list_pages(scope, page)
        except errors.GoneError:
            return await self._list_pages(scope, 0)

    async def _list_pages(self, scope: Scope, page: int) -> Listing:
        items: list[Manifest] = []
        token = ""
        while True:
            answer = await self.send(request.list_page(scope, page, token))
            metadata = answer.get("metadata")
            if not isinstance(metadata, dict) or (token and metadata.get("continue") == token):
                raise errors.UnreachableError(f"GET {scope.path}: the answer is no page of a list")
            # Inside a list the API server leaves out what kind the items are.
            items += [{**item, **scope.kind.identity} for item in answer.get("items") or [] if isinstance(item, dict)]
            token = metadata.get("continue") or ""
            if not token:
                return Listing(items, str(metadata.get("resourceVersion") or "0"))

    async def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        return await self.send(request.create(kind, manifest, self.field_manager))

    async def replace(self, kind: Kind, manifest: Manifest) -> Manifest:
        return await self.send(request.replace(kind, manifest, self.field_manager))

    async def apply(self, kind: Kind, manifest: Manifest, *, subresource: str = "") -> Manifest:
        return await self.send(request.apply(kind, manifest, self.field_manager, subresource=subresource))

    async def patch(self, kind: Kind, key: Key, change: Manifest | Operations, *, subresource: str = "") -> Manifest:
        return await self.send(request.patch(kind, key, change, self.field_manager, subresource=subresource))

    async def delete(
        self,
        kind: Kind,
        key: Key,
        preconditions: Preconditions,
        propagation: Propagation = Propagation.BACKGROUND,
    ) -> None:
        await self.send(request.delete(kind, key, preconditions, propagation))

    async def pod_log(self, key: Key, container: str = "", tail_lines: int | None = None) -> str:
        return (await self._repeat(request.pod_log(key, container, tail_lines))).decode(errors="replace")

    async def send(self, asked: Request) -> Manifest:
        return decode(await self._repeat(asked))

    async def _repeat(self, asked: Request) -> bytes:
        failures = 0
        while True:
            try:
                return await self._once(asked)
            except (errors.ApiError, errors.UnreachableError) as error:
                failures += 1
                if failures >= TRIES or not may_repeat(asked, error, failures):
                    raise
                delay = pause_after(error, failures)
            await asyncio.sleep(delay)

    async def _once(self, asked: Request) -> bytes:
        limit = aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT_TIMEOUT)
        async with self._answer(asked, limit) as response:
            return await response.read()

    @contextlib.asynccontextmanager
    async def stream(self, asked: Request, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give an answer piece by piece; it ends as unreachable when nothing at all comes for `silence` seconds."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        async with self._answer(asked, limit) as response:
            yield response.content.iter_any()

    @contextlib.asynccontextmanager
    async def _answer(self, asked: Request, limit: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("the client is used outside of its `async with`")
        proof = await self.config.credentials.proof()
        try:
            async with self._session.request(
                asked.method,
                self.config.server + asked.path,
                params=asked.params,
                data=asked.body,
                headers={**asked.headers, **proof.headers},
                timeout=limit,
                ssl=proof.tls or self.config.tls or True,
                server_hostname=self.config.tls_server_name,
                allow_redirects=False,
            ) as response:
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    raise refusal(response.status, await response.read(), response.headers.get("Retry-After"))
                yield response
        except errors.UnauthorizedError:
            self.config.credentials.invalidate()
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            words = str(error) or type(error).__name__
            raise errors.UnreachableError(f"{asked.method} {asked.path}: {words}") from error


def may_repeat(asked: Request, error: errors.KubeError, failures: int) -> bool:
    """Tell whether sending it again does no harm: the server did nothing, or doing it twice is doing it once."""
    match error:
        case errors.TooManyRequestsError():
            return True
        case errors.UnauthorizedError():
            return failures == 1
        case errors.ServerError() | errors.UnreachableError():
            return asked.repeatable
    return False


def pause_after(error: errors.KubeError, failures: int) -> float:
    asked = error.retry_after if isinstance(error, errors.ApiError) else None
    return RETRY.after(failures) if asked is None else min(asked, LONGEST_RETRY_AFTER)


def decode(body: bytes) -> Manifest:
    try:
        answer = msgspec.json.decode(body)
    except ValueError as error:
        raise errors.UnreachableError(f"the answer is not JSON: {body[:100]!r}") from error
    if not isinstance(answer, dict):
        raise errors.UnreachableError(f"the answer is no object: {body[:100]!r}")
    return answer


def refusal(code: int, body: bytes, retry_after: str | None) -> errors.ApiError:
    """Read the Status that the API server sends; a proxy in between sends anything."""
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"code": code, "message": body[:500].decode(errors="replace")}
    return errors.from_status({"code": code, **status}, seconds)


def attentive_socket(address: AddrInfoType) -> socket.socket:
    """Make a socket that asks whether the other side still lives while nothing is sent."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", SILENCE // 2), ("TCP_KEEPINTVL", SILENCE // 6), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on every system
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
