"""A watch: changes as lines, from a version on, until its time is over or its reader is too slow."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.selectors import Selector
from paddle_operator.embedded.apiserver.storage import Change, Storage
from paddle_operator.kube.request import Kind

MOST_WAITING = 10_000
BOOKMARK_SECONDS = 10.0
INITIAL_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True)
class Wanted:
    """What is watched, from when on, and how long. Without a version all that is there comes first."""

    kind: Kind
    selector: Selector
    since: int | None
    seconds: float
    bookmarks: bool = False
    mark_initial_end: bool = False


async def lines(storage: Storage, wanted: Wanted, bookmark_seconds: float = BOOKMARK_SECONDS) -> AsyncIterator[bytes]:
    """Give one line for each event; a version that is no longer known is an event too, the only one."""
    heard: asyncio.Queue[Change] = asyncio.Queue(MOST_WAITING)
    overrun = asyncio.Event()

    def hear(change: Change) -> None:
        if change.kind != wanted.kind:
            return
        if heard.full():
            overrun.set()
        else:
            heard.put_nowait(change)

    stop = storage.listen(hear)
    try:
        try:
            first = list(_first(storage, wanted))
        except refusals.RefusedError as refused:
            yield line("ERROR", refused.status)
            return
        for known in first:
            yield known
        async for following in _following(storage, wanted, heard, overrun, bookmark_seconds):
            yield following
    finally:
        stop()


def _first(storage: Storage, wanted: Wanted) -> Iterator[bytes]:
    if wanted.since is None:
        for manifest in storage.items(wanted.kind):
            if wanted.selector(manifest):
                yield line("ADDED", manifest)
        if wanted.mark_initial_end:
            yield bookmark(wanted.kind, storage.version, INITIAL_END)
        return
    for change in storage.since(wanted.since):
        if change.kind == wanted.kind and (event := event_of(change, wanted.selector)):
            yield event


async def _following(
    storage: Storage, wanted: Wanted, heard: asyncio.Queue[Change], overrun: asyncio.Event, bookmark_seconds: float
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    end = loop.time() + wanted.seconds
    while not overrun.is_set():
        pause = min(end - loop.time(), bookmark_seconds)
        try:
            async with asyncio.timeout(max(pause, 0)):
                change = await heard.get()
        except TimeoutError:
            # What came at this very moment must be told before a bookmark that says so.
            while not heard.empty():
                if event := event_of(heard.get_nowait(), wanted.selector):
                    yield event
            if wanted.bookmarks:
                yield bookmark(wanted.kind, storage.version)
            if loop.time() >= end:
                return
            continue
        if event := event_of(change, wanted.selector):
            yield event


def event_of(change: Change, selector: Selector) -> bytes | None:
    """Say what a change is to somebody who sees only what is selected."""
    was, is_now = selector(change.before), selector(change.after)
    if not was and not is_now:
        return None
    if was and not is_now:
        gone = change.encoded
        return b'{"type":"DELETED","object":' + gone + b"}\n"
    kind = b"MODIFIED" if was else b"ADDED"
    return b'{"type":"' + kind + b'","object":' + change.encoded + b"}\n"


def line(kind: str, manifest: Manifest) -> bytes:
    return msgspec.json.encode({"type": kind, "object": manifest}) + b"\n"


def bookmark(kind: Kind, version: int, annotations: dict[str, str] | None = None) -> bytes:
    metadata: Manifest = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return line("BOOKMARK", {**kind.identity, "metadata": metadata})
