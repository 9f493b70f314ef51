"""Keeps a store equal to what the API server has: list, then watch, and again after anything that can go wrong."""

import asyncio
import hashlib
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from paddle_operator.api.manifest import Manifest, is_complete, key_of, version_of
from paddle_operator.kube import document, errors, request
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client, asked_pause
from paddle_operator.kube.request import Scope

log = logging.getLogger(__name__)
WARNINGS_REMEMBERED = 1000
BACKOFF = Backoff(first=0.25, longest=30.0)
# After these, what we have is still good, and the watch goes on from there: listing is the dearest thing to ask for.
PASSING = (errors.UnreachableError, errors.TooManyRequestsError, errors.UnauthorizedError, errors.ConfigError)


class Sink(Protocol):
    """Where the objects go."""

    def replace(self, items: list[Manifest]) -> None:
        """All objects there are; what is not among them is gone."""

    def put(self, manifest: Manifest) -> None: ...

    def remove(self, manifest: Manifest) -> None: ...


class Meter(Protocol):
    """Who counts what goes wrong."""

    def watch_restarted(self, plural: str) -> None: ...

    def object_skipped(self, plural: str) -> None: ...


@dataclass(frozen=True)
class Pace:
    """How long a watch lasts, how much longer its silence may, and from when on it counts as a good one."""

    watch_seconds: int = 120
    silence: float = 15.0
    settled: float = 10.0
    backoff: Backoff = BACKOFF


class Lines:
    """Cuts a stream at the byte 10 only: other line ends are letters inside of strings."""

    def __init__(self) -> None:
        self._started: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        first, *others = chunk.split(b"\n")
        self._started.append(first)
        for following in others:
            line = b"".join(self._started)
            self._started = [following]
            if line:
                yield line


class Watch:
    """`synced`: it was listed. `answered`: or we were told why not: `is_absent`, no such kind, or `is_forbidden`."""

    def __init__(
        self,
        client: Client,
        scope: Scope,
        sink: Sink,
        meter: Meter,
        pace: Pace | None = None,
        decode: Callable[[Manifest], Manifest] = lambda manifest: manifest,
    ) -> None:
        self.scope = scope
        self.synced = asyncio.Event()
        self.answered = asyncio.Event()
        self.is_absent = False
        self.is_forbidden = False
        self._client = client
        self._sink = sink
        self._meter = meter
        self._pace = pace or Pace()
        self._decode = decode
        self._version = ""
        self._watching_since = float("inf")
        self._warned: set[str] = set()

    async def run(self) -> None:
        """Go on for ever; each failure is one line in the log, and the next try comes later than the last.

        That a kind is not there, or is not for us, is said once: it may stay so for as long as we run.
        """
        failures, known = 0, ""
        while True:
            problem = await self._round()
            if self._lived() >= self._pace.settled:
                failures = 0
                if problem is None:
                    continue
            failures += 1
            delay = max(self._pace.backoff.after(failures), asked_pause(problem) or 0.0)
            self._meter.watch_restarted(self.scope.kind.plural)
            words = self._explained(problem)
            level = logging.DEBUG if words == known and (self.is_absent or self.is_forbidden) else logging.WARNING
            log.log(level, "watch interrupted kind=%s retry_in=%.1fs: %s", self.scope.kind.plural, delay, words)
            known = words
            await asyncio.sleep(delay)

    def _explained(self, problem: errors.KubeError | None) -> str:
        if isinstance(problem, errors.NotFoundError):
            kind = self.scope.kind
            return f"the cluster has no {kind.plural} of {kind.api_version}: install what defines them"
        return str(problem or "ended by the server at once")

    async def _round(self) -> errors.KubeError | None:
        self._watching_since = float("inf")
        try:
            if not self._version:
                await self._list()
            await self._follow()
        except PASSING as error:
            return error
        except errors.KubeError as error:
            self._version = ""
            if isinstance(error, (errors.NotFoundError, errors.ForbiddenError)):
                self.is_absent = isinstance(error, errors.NotFoundError)
                self.is_forbidden = not self.is_absent
                self.answered.set()
            return error
        return None

    def _lived(self) -> float:
        return asyncio.get_running_loop().time() - self._watching_since

    async def _list(self) -> None:
        listing = await self._client.list(self.scope)
        decoded = (self._decoded(item) for item in listing.items)
        self._sink.replace([manifest for manifest in decoded if manifest is not None])
        self._version = listing.resource_version
        self.is_absent = self.is_forbidden = False
        self.synced.set()
        self.answered.set()

    async def _follow(self) -> None:
        # Spread, so that the watches of one start do not all end together.
        seconds = round(self._pace.watch_seconds * random.uniform(1.0, 1.25))  # noqa: S311 no secret
        asked = request.watch(self.scope, self._version, seconds)
        async with self._client.stream(asked, seconds + self._pace.silence) as chunks:
            self._watching_since = asyncio.get_running_loop().time()
            lines = Lines()
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = document.parse(line)
        except ValueError:
            event = None
        kind, manifest = (event.get("type"), event.get("object")) if isinstance(event, dict) else (None, None)
        if not isinstance(manifest, dict):
            self._skip(hashlib.sha256(line).hexdigest(), "not a watch event")
            return
        match kind:
            case "ERROR":
                raise errors.from_status(manifest)
            case "BOOKMARK":
                self._note_version(manifest)
            case "ADDED" | "MODIFIED" | "DELETED":
                self._pass_on(kind, manifest)
            case _:
                self._skip(str(kind), f"an event of unknown type {kind!r}")

    def _pass_on(self, kind: str, manifest: Manifest) -> None:
        decoded = self._decoded(manifest)
        if decoded is None:
            if is_complete(manifest):
                self._sink.remove(manifest)  # as a list would leave it out: what we had of it holds no longer
        elif kind == "DELETED":
            self._sink.remove(decoded)
        else:
            self._sink.put(decoded)
        self._note_version(manifest)

    def _note_version(self, manifest: Manifest) -> None:
        metadata = manifest.get("metadata")
        if isinstance(metadata, dict):
            self._version = version_of(manifest) or self._version

    def _decoded(self, manifest: Manifest) -> Manifest | None:
        if not is_complete(manifest):
            self._skip(hashlib.sha256(repr(manifest).encode()).hexdigest(), "an object without a name")
            return None
        try:
            return self._decode(manifest)
        except ValueError as error:
            self._skip(str(key_of(manifest)), f"{key_of(manifest)} cannot be decoded: {error}")
            return None

    def _skip(self, identity: str, why: str) -> None:
        """Leave out one object, not all: warn about it once, count it each time."""
        self._meter.object_skipped(self.scope.kind.plural)
        if identity in self._warned:
            return
        if len(self._warned) >= WARNINGS_REMEMBERED:
            self._warned.clear()
        self._warned.add(identity)
        log.warning("object skipped kind=%s: %s", self.scope.kind.plural, why)
