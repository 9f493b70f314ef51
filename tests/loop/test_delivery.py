"""In whatever order the kinds are heard of, late, twice or out of date: the end is the same."""

import asyncio
import copy
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.control.caches import Caches
from paddle_operator.control.controller import Loop, World
from paddle_operator.control.execute import Executor
from paddle_operator.control.metrics import Metrics
from paddle_operator.control.queue import Queue
from paddle_operator.control.store import Store
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder
from support.embeddedapi import Api
from support.eventually import eventually
from support.families import Change, is_whole, wanting
from support.family import CONFIG_MAPS, FAMILY, PARENTS

from .conftest import MARK


@dataclass(frozen=True)
class Heard:
    """What a watch says of one object: how it is, or how it last was."""

    manifest: Manifest
    gone: bool


class Channel:
    """All that happened to one kind, in its order; how much of it has been delivered, and to where."""

    def __init__(self, api: Api, plural: str, store: Store) -> None:
        self._api = api
        self._plural = plural
        self._store = store
        self._last: dict[Key, Manifest] = {}
        self._log: list[Heard] = []
        self._delivered = 0

    @property
    def is_behind(self) -> bool:
        return self._delivered < len(self._log)

    def look(self) -> None:
        """Note what has changed since the last look."""
        found = [self._api.get(self._plural, "default", name) for name in self._api.names(self._plural)]
        now = {key_of(manifest): manifest for manifest in found}
        for key, was in self._last.items():
            if key not in now or uid_of(now[key]) != uid_of(was):
                self._log.append(Heard(was, gone=True))
        for key, manifest in now.items():
            if key not in self._last or version_of(self._last[key]) != version_of(manifest):
                self._log.append(Heard(manifest, gone=False))
        self._last = now

    def deliver(self) -> None:
        self._tell(self._log[self._delivered])
        self._delivered += 1

    def repeat(self, chance: random.Random) -> None:
        """Deliver something once more: an older state of what there is, or the end of what has ended."""
        again = [heard for heard in self._log[: self._delivered] if heard.gone or self._is_there(heard.manifest)]
        if again:
            self._tell(chance.choice(again))

    def list(self) -> None:
        """Deliver all there is at once, in the place of what was still to come."""
        self._store.replace(copy.deepcopy(list(self._last.values())))
        self._delivered = len(self._log)

    def _is_there(self, manifest: Manifest) -> bool:
        present = self._store.get(key_of(manifest))
        return present is not None and uid_of(present) == uid_of(manifest)

    def _tell(self, heard: Heard) -> None:
        (self._store.remove if heard.gone else self._store.put)(copy.deepcopy(heard.manifest))


class Delivery:
    def __init__(self, api: Api, loop: Loop, caches: Caches) -> None:
        self._api = api
        self._loop = loop
        self.channels = [Channel(api, kind.plural, caches.stores[kind]) for kind in (PARENTS, CONFIG_MAPS)]
        api.after_write = lambda _: self.look()

    def look(self) -> None:
        for channel in self.channels:
            channel.look()

    def change(self, change: Change) -> None:
        change(self._api)
        self.look()

    @property
    def is_over(self) -> bool:
        """Deliver all that is left, and tell whether the world is as it should be."""
        whole = is_whole(self._api)
        self.look()
        for channel in self.channels:
            while channel.is_behind:
                channel.deliver()
        queue = self._loop.queue
        return whole and not (queue._waiting or queue._again or queue._in_work or queue._timers)


@pytest.fixture
async def delivery(api: Api, client: Client) -> AsyncIterator[Delivery]:
    """A loop that hears only what is delivered to it; what it writes goes to the server as always."""
    metrics = Metrics()
    caches = Caches(client, metrics)
    executor = Executor(client, caches.stores, Recorder(client, "tester"), MARK)
    world = World(client, caches.stores, caches.serves, executor.execute, lambda: datetime.now(UTC))
    loop = Loop(FAMILY, world, metrics, Queue(Backoff(0.001, 0.01)))
    loop.connect(caches)
    running = asyncio.create_task(loop.run(asyncio.Event()))
    yield Delivery(api, loop, caches)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def losing_a_child(api: Api) -> None:
    for name in api.names("configmaps")[:1]:
        api.remove("configmaps", Key("default", name))


def deleting(name: str) -> Change:
    return lambda api: api.remove("parents", Key("default", name))


STORY: list[Change] = [
    wanting("ada"),
    wanting("eve", children=2),
    wanting("ada", value="two"),
    losing_a_child,
    wanting("ada", value="two", children=1),
    deleting("eve"),
    wanting("zoe", children=4),
    wanting("eve", children=3, value="new"),
    deleting("zoe"),
    losing_a_child,
]
END = {"ada-0": "two", "eve-0": "new", "eve-1": "new", "eve-2": "new"}


async def a_moment(chance: random.Random) -> None:
    for _ in range(chance.choice([0, 0, 1, 5, 50])):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(25))
async def test_the_order_in_which_changes_are_heard_does_not_matter(api: Api, delivery: Delivery, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 the same for each run
    story = list(STORY)
    while story or any(channel.is_behind for channel in delivery.channels):
        channel = chance.choice(delivery.channels)
        match chance.choice(["change", "deliver", "deliver", "deliver", "repeat", "list", "collect"]):
            case "change" if story:
                delivery.change(story.pop(0))
            case "deliver" if channel.is_behind:
                channel.deliver()
            case "repeat":
                channel.repeat(chance)
            case "list" if chance.random() < 0.3:
                channel.list()
            case "collect":
                is_whole(api)
                delivery.look()
        await a_moment(chance)
    await eventually(lambda: delivery.is_over)
    writes = list(api.writes)
    for channel in delivery.channels * 5:
        channel.repeat(chance)
        await a_moment(chance)
    await eventually(lambda: delivery.is_over)
    assert api.writes == writes, "what is out of date is acted on"
    assert {name: api.get("configmaps", "default", name)["data"]["value"] for name in api.names("configmaps")} == END
    assert api.names("parents") == ["ada", "eve"]
