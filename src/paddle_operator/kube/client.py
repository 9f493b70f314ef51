"""Sends requests to the API server: with a time limit each, again where that is safe, and errors by their reason."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import document, errors, request
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.config import Config
from paddle_operator.kube.connection import Connection
from paddle_operator.kube.request import Kind, Operations, Preconditions, Propagation, Request, Scope

TIMEOUT = 30.0
TRIES = 4
RETRY = Backoff(first=0.2, longest=5.0)
LONGEST_RETRY_AFTER = 30.0


@dataclass(frozen=True)
class Listing:
    items: list[Manifest]
    resource_version: str


class Client:
    """All verbs of the API server for any kind; every write is made in the name of one field manager."""

    def __init__(self, config: Config, field_manager: str, timeout: float = TIMEOUT) -> None:
        self.connection = Connection(config, field_manager)
        self.field_manager = field_manager
        self.guard: Callable[[], None] = lambda: None
        self._timeout = timeout

    def guarded(self, guard: Callable[[], None]) -> Self:
        """Give a client on the same connection that asks `guard` before each sending of what may change something."""
        client = copy.copy(self)
        client.guard = guard
        return client

    async def __aenter__(self) -> Self:
        await self.connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.connection.close()

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
        given = {token}
        while True:
            answer = await self.send(request.list_page(scope, page, token))
            metadata = answer.get("metadata")
            if not isinstance(metadata, dict):
                raise errors.UnreachableError(f"GET {scope.path}: the answer is no page of a list")
            # Inside a list the API server leaves out what kind the items are.
            items += [{**item, **scope.kind.identity} for item in answer.get("items") or [] if isinstance(item, dict)]
            token = str(metadata.get("continue") or "")
            if not token:
                return Listing(items, str(metadata.get("resourceVersion") or "0"))
            if token in given:
                raise errors.UnreachableError(f"GET {scope.path}: the pages of the list go round in a circle")
            given.add(token)

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

    async def pod_log(self, key: Key, container: str = "", tail_lines: int = request.LOG_LINES) -> str:
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
        if asked.method != "GET":
            self.guard()
        return await self.connection.ask(asked, self._timeout)

    def stream(self, asked: Request, silence: float) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Give an answer piece by piece; it ends as unreachable when nothing at all comes for `silence` seconds."""
        return self.connection.stream(asked, silence)


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
    asked = asked_pause(error)
    return RETRY.after(failures) if asked is None else asked


def asked_pause(error: errors.KubeError | None) -> float | None:
    """Give how long the server wants us to wait, within reason."""
    asked = error.retry_after if isinstance(error, errors.ApiError) else None
    return None if asked is None else min(asked, LONGEST_RETRY_AFTER)


def decode(body: bytes) -> Manifest:
    try:
        answer = document.parse(body)
    except ValueError as error:
        raise errors.UnreachableError(f"the answer is not JSON: {body[:100]!r}") from error
    if not isinstance(answer, dict):
        raise errors.UnreachableError(f"the answer is no object: {body[:100]!r}")
    return answer
