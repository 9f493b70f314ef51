"""Records events about objects: the same one again only raises its count; best effort, and nobody waits for it."""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

log = logging.getLogger(__name__)
EVENTS = Kind("", "v1", "events", "Event")
MOST_WAITING = 1000
MOST_REMEMBERED = 4000
# In bytes, as the API server counts them.
LONGEST_MESSAGE = 1024
LONGEST_REASON = 128
LONGEST_NAME = 200


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class Event:
    about: Manifest
    reason: str
    message: str
    type: EventType = EventType.NORMAL

    @property
    def name(self) -> str:
        """Give the name that the same event has every time."""
        said = "\0".join((uid_of(self.about), self.type, self.reason, self.message))
        digest = hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]
        return f"{key_of(self.about).name[:LONGEST_NAME].rstrip('-.')}.{digest}"


@dataclass(frozen=True)
class Series:
    event: Event
    count: int
    first: datetime
    last: datetime


class Recorder:
    def __init__(
        self, client: Client, component: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._waiting: OrderedDict[str, Series] = OrderedDict()
        self._written: OrderedDict[str, Series] = OrderedDict()
        self._wake = asyncio.Event()
        self._writing = asyncio.Lock()

    def record(self, event: Event) -> None:
        """Note it for writing; when too many wait already, it is lost."""
        now = self._clock()
        waiting = self._waiting.get(event.name)
        if waiting is not None:
            self._waiting[event.name] = replace(waiting, count=waiting.count + 1, last=now)
        elif len(self._waiting) < MOST_WAITING:
            # Of the object only its address is kept: it may be large, and gone long before its event is forgotten.
            self._waiting[event.name] = Series(replace(event, about=outline(event.about)), 1, now, now)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write what waits now, and return once all of it is written, by whomever."""
        self._wake.clear()
        async with self._writing:
            while self._waiting:
                name, series = self._waiting.popitem(last=False)
                try:
                    await self._write(name, series)
                except errors.KubeError as error:
                    log.debug("event lost reason=%s: %s", series.event.reason, error)

    async def _write(self, name: str, series: Series) -> None:
        known = self._written.get(name)
        if known is not None:
            series = replace(series, count=known.count + series.count, first=known.first)
        if known is None or not await self._raise_count(name, series):
            series = await self._create(name, series)
        self._written[name] = series
        self._written.move_to_end(name)
        if len(self._written) > MOST_REMEMBERED:
            self._written.popitem(last=False)

    async def _raise_count(self, name: str, series: Series) -> bool:
        change = {"count": series.count, "lastTimestamp": timestamp(series.last)}
        try:
            await self._client.patch(EVENTS, Key(namespace_of(series.event.about), name), change)
        except errors.NotFoundError:
            return False  # the API server forgets events after an hour
        return True

    async def _create(self, name: str, series: Series) -> Series:
        try:
            await self._client.create(EVENTS, manifest(name, series, self._component))
        except errors.AlreadyExistsError:  # written before we were started again
            present = await self._client.get(EVENTS, Key(namespace_of(series.event.about), name))
            series = replace(series, count=series.count + (present.get("count") or 0))
            await self._raise_count(name, series)
        return series


def namespace_of(about: Manifest) -> str:
    return key_of(about).namespace or "default"


def outline(about: Manifest) -> Manifest:
    fields = ("namespace", "name", "uid", "resourceVersion")
    metadata = {field: about["metadata"][field] for field in fields if field in about["metadata"]}
    return {"apiVersion": about["apiVersion"], "kind": about["kind"], "metadata": metadata}


def shortened(text: str, longest: int) -> str:
    """Cut to so many bytes, between letters."""
    return text.encode(errors="replace")[:longest].decode(errors="ignore")


def manifest(name: str, series: Series, component: str) -> Manifest:
    event, about = series.event, outline(series.event.about)
    return {
        "metadata": {"name": name, "namespace": namespace_of(about)},
        "involvedObject": {"apiVersion": about["apiVersion"], "kind": about["kind"], **about["metadata"]},
        "type": event.type.value,
        "reason": shortened(event.reason, LONGEST_REASON),
        "message": shortened(event.message, LONGEST_MESSAGE),
        "count": series.count,
        "firstTimestamp": timestamp(series.first),
        "lastTimestamp": timestamp(series.last),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
    }


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
