"""From any point, killed after any write: the same end, and then nothing more is written."""

import asyncio
import contextlib
import copy
import dataclasses
import itertools
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.manager import Manager
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.request import Request
from support import embeddedapi
from support.embeddedapi import Api
from support.eventually import eventually
from support.families import Change, is_whole, wanting
from support.family import FAMILY

from .conftest import MARK, SETTINGS

HASTY = dataclasses.replace(
    FAMILY, triggers=tuple(dataclasses.replace(trigger, settle=0.0) for trigger in FAMILY.triggers)
)


def deleting(api: Api) -> None:
    """Somebody deletes the parent, and the garbage collector its children."""
    api.remove("parents", Key("default", "ada"))
    for name in api.names("configmaps"):
        api.remove("configmaps", Key("default", name))


def damaging(api: Api) -> None:
    """Somebody deletes one child and changes another."""
    api.remove("configmaps", Key("default", "ada-1"))
    api.put("configmaps", {"metadata": {"name": "ada-0", "namespace": "default"}, "data": {"value": "wrong"}})


def replacing(api: Api) -> None:
    deleting(api)
    wanting(children=2)(api)


def several(api: Api) -> None:
    for name in ("eve", "zoe"):
        wanting(name, children=2)(api)


SCENARIOS: dict[str, tuple[Change, ...]] = {
    "grow": (wanting(),),
    "grow several": (wanting(), several),
    "grow larger": (wanting(children=1), wanting(children=4)),
    "change a value": (wanting(), wanting(value="two")),
    "shrink": (wanting(children=4), wanting(children=1)),
    "shrink and change": (wanting(children=4), wanting(children=2, value="two", extra="more")),
    "put right": (wanting(), damaging),
    "delete": (wanting(), deleting),
    "delete and make again": (wanting(), replacing),
}
each_scenario = pytest.mark.parametrize("changes", SCENARIOS.values(), ids=SCENARIOS.keys())


def essence(manifest: Manifest) -> Manifest:
    """What people care for: not what differs from run to run."""
    metadata, status = manifest["metadata"], copy.deepcopy(manifest.get("status"))
    for condition in (status or {}).get("conditions", []):
        del condition["lastTransitionTime"]
    owners = [owner["name"] for owner in metadata.get("ownerReferences", [])]
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != MARK}
    about = {"labels": metadata.get("labels"), "annotations": annotations, "owners": owners}
    return {**about, "spec": manifest.get("spec"), "data": manifest.get("data"), "status": status}


def world_of(api: Api) -> dict[str, Manifest]:
    return {
        f"{plural}/{name}": essence(api.get(plural, "default", name))
        for plural in ("parents", "configmaps")
        for name in api.names(plural)
    }


class Mortal(Client):
    """Dies after so many writes: the last has happened, but its answer is not heard, and nothing is sent any more."""

    def __init__(self, config: Config, writes: float) -> None:
        super().__init__(config, "tester", timeout=5.0)
        self.writes_left = [writes]  # a list, shared with the copy that asks who leads
        self.dead = asyncio.Event()

    async def _once(self, asked: Request) -> bytes:
        if asked.method == "GET":
            return await super()._once(asked)
        if self.writes_left[0] <= 0:
            await self._die()
        self.writes_left[0] -= 1
        answer = await super()._once(asked)
        if self.writes_left[0] <= 0:
            await self._die()
        return answer

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.Event().wait()


@dataclass(frozen=True)
class Running:
    api: Api
    manager: Manager
    client: Mortal

    @property
    def is_idle(self) -> bool:
        queue = self.manager.loops[0].queue
        return not (queue._waiting or queue._again or queue._in_work or queue._timers)

    @property
    def passes(self) -> float:
        return float(self.manager.metrics._reconciles.labels("family", "done")._value.get())

    async def settled(self) -> None:
        await eventually(lambda: is_whole(self.api) and self.is_idle)


@contextlib.asynccontextmanager
async def running(api: Api, writes: float = math.inf) -> AsyncIterator[Running]:
    """Run a manager that is killed at the end, not stopped; with `writes`, it has died after so many."""
    async with Mortal(api.config, writes) as client:
        manager = Manager(client, [HASTY], SETTINGS)
        manager.loops[0].queue._backoff = Backoff(0.01, 0.1)
        task = asyncio.create_task(manager.run(asyncio.Event()))
        try:
            yield Running(api, manager, client)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def written_since(api: Api, before: int) -> list[str]:
    return [write for write in api.writes[before:] if "events/" not in write]


@each_scenario
async def test_a_second_pass_writes_nothing(api: Api, changes: Sequence[Change]) -> None:
    """Neither of the same manager nor of one that was started again."""
    async with running(api) as first:
        for change in changes:
            change(api)
            await first.settled()
        before, passes, parents = len(api.writes), first.passes, api.names("parents")
        for name in parents:
            first.manager.loops[0].queue.add(Key("default", name))
        await eventually(lambda: first.passes >= passes + len(parents) and first.is_idle)
        assert written_since(api, before) == []
    before = len(api.writes)
    async with running(api) as second:
        await eventually(lambda: second.passes >= len(parents) and not second.manager.caches.missing)
        await second.settled()
        assert written_since(api, before) == []


async def play(changes: Sequence[Change], writes: float) -> tuple[dict[str, Manifest], bool]:
    """Give the end of the last change, and whether the manager died on it and left the rest to its heir."""
    async with embeddedapi.running() as api:
        async with running(api) as before:
            for change in changes[:-1]:
                change(api)
                await before.settled()
        changes[-1](api)
        async with running(api, writes) as mortal:
            ends = [asyncio.create_task(mortal.settled()), asyncio.create_task(mortal.client.dead.wait())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        async with running(api) as heir:
            await heir.settled()
        return world_of(api), mortal.client.dead.is_set()


@each_scenario
async def test_killed_after_any_write_it_comes_to_the_same_end(changes: Sequence[Change]) -> None:
    expected, _ = await play(changes, math.inf)
    for writes in itertools.count():
        world, died = await play(changes, writes)
        assert world == expected, f"killed after {writes} writes"
        if not died:
            break
