"""What a plan asks of other servers, and what other servers tell."""

import asyncio
from dataclasses import replace

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control.calls import Call, CallError
from paddle_operator.control.controller import Controller, Tell, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.plan import Plan, Status
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import FAMILY, PARENTS

from .conftest import Managing

ADA = Key("default", "ada")


class Server:
    """Takes orders; those whose id begins with "no" it refuses."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    async def call(self, call: Call) -> None:
        if call.id.startswith("no"):
            raise CallError(f"{call.server} does not take {call.id}")
        self.taken.append(call.id)


def caller(server: Server, *ids: str) -> Controller:
    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[PARENTS].get(key)
        if observed is None:
            return Done()
        calls = tuple(Call("server", number, {}) for number in ids)
        return await world.execute(Plan(calls=calls, status=Status(PARENTS, observed, {"children": 7})))

    return Controller("caller", (Trigger(PARENTS),), reconcile, call=server.call)


@pytest.mark.parametrize("ids", [("one", "two"), ("no", "one", "two")])
async def test_a_refused_call_keeps_neither_the_others_nor_the_status_and_is_made_again(
    api: Api, managing: Managing, ids: tuple[str, ...]
) -> None:
    server = Server()
    api.put("parents", family.parent("ada"))
    async with managing([caller(server, *ids)]) as manager:
        await eventually(lambda: {"one", "two"} <= set(server.taken))
        await eventually(lambda: api.get("parents", *ADA).get("status") == {"children": 7})
        failed = manager.metrics._reconciles.labels("caller", "error")._value
        await eventually(lambda: "no" not in ids or failed.get() >= 2)


async def test_a_controller_that_says_not_who_carries_its_calls_makes_none(api: Api, managing: Managing) -> None:
    silent = replace(caller(Server(), "one"), call=FAMILY.call)
    api.put("parents", family.parent("ada"))
    async with managing([silent]) as manager:
        failed = manager.metrics._reconciles.labels("caller", "error")._value
        await eventually(lambda: failed.get() >= 1)


async def test_what_a_source_tells_is_looked_at_until_the_manager_ends(api: Api, managing: Managing) -> None:
    server, ended = Server(), asyncio.Event()

    async def source(tell: Tell) -> None:
        try:
            while True:
                tell(ADA, 0.0)
                await asyncio.sleep(0.001)
        finally:
            ended.set()

    api.put("parents", family.parent("ada"))
    async with managing([replace(caller(server, "one"), sources=(source,))]):
        await eventually(lambda: len(server.taken) >= 5)
        assert not ended.is_set()
    assert ended.is_set()


async def test_two_controllers_see_objects_of_one_kind_by_labels_of_their_own(api: Api, managing: Managing) -> None:
    seen: set[str] = set()

    async def reconcile(_: World, key: Key) -> Outcome:
        seen.add(key.name)
        return Done()

    other = Controller("other", (Trigger(family.CONFIG_MAPS, labels="app=other"),), reconcile)
    for name, label in (("mine", "other"), ("theirs", "another")):
        api.put("configmaps", {"metadata": {"name": name, "namespace": "default", "labels": {"app": label}}})
    api.put("parents", family.parent("ada", children=1))
    async with managing([FAMILY, other]):
        await eventually(lambda: api.names("configmaps") == ["ada-0", "mine", "theirs"] and "mine" in seen)
    assert "theirs" not in seen
