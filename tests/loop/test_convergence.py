"""The loop brings the world to where it should be, from anywhere, and then leaves it alone."""

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control import controller as controlling
from paddle_operator.control.controller import Controller, Trigger, World, key_of_owner
from paddle_operator.control.execute import REFUSED_PAUSE
from paddle_operator.control.manager import Manager
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Create, Plan, Status
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS, FAMILY, PARENTS
from support.managing import is_idle

from .conftest import Managing

CHILDREN = ["ada-0", "ada-1", "ada-2"]
ADA = Key("default", "ada")


def is_grown(api: Api, name: str = "ada", children: int = 3) -> bool:
    status = api.get("parents", "default", name).get("status") or {}
    ready = [found["status"] for found in status.get("conditions", [])] == ["True"]
    return ready and status.get("children") == children


async def grown(api: Api, manager: Manager) -> None:
    await eventually(lambda: is_grown(api) and is_idle(manager))
    await eventually(lambda: api.names("events"))


@pytest.mark.parametrize(
    ("code", "reason", "headers"),
    [(500, "InternalError", {}), (409, "Conflict", {}), (429, "TooManyRequests", {"Retry_After": "0"})],
)
async def test_failing_writes_delay_and_do_not_prevent(
    api: Api, managing: Managing, code: int, reason: str, headers: dict[str, str]
) -> None:
    for name in ("ada", "eve", "zoe"):
        api.put("parents", family.parent(name))
    api.fail("PATCH", "configmaps", 10, code, reason, **headers)
    api.fail("PATCH", "/status", 5, code, reason, **headers)
    async with managing():
        await eventually(lambda: all(is_grown(api, name) for name in ("ada", "eve", "zoe")))


async def test_a_child_deleted_while_nobody_could_see_is_made_again(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await grown(api, manager)
        api.cut_watches()
        api.remove("configmaps", Key("default", "ada-1"))
        api.forget()
        await eventually(lambda: api.names("configmaps") == CHILDREN)
        await grown(api, manager)


async def test_a_childs_value_changed_by_somebody_is_put_right(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await grown(api, manager)
        api.put("configmaps", {"metadata": {"name": "ada-1", "namespace": "default"}, "data": {"value": "wrong"}})
        await eventually(lambda: api.get("configmaps", "default", "ada-1")["data"] == {"value": "one"})


async def test_a_field_that_is_no_longer_wanted_goes(api: Api, managing: Managing) -> None:
    wanted = family.parent("ada")
    wanted["spec"]["extra"] = "more"
    api.put("parents", wanted)
    async with managing() as manager:
        await grown(api, manager)
        assert api.get("configmaps", "default", "ada-0")["data"] == {"value": "one", "extra": "more"}
    api.put("parents", {**family.parent("ada"), "spec": {"extra": None}})
    async with managing():
        await eventually(lambda: api.get("configmaps", "default", "ada-0")["data"] == {"value": "one"})


async def test_fewer_children_are_wanted_and_the_rest_goes(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await grown(api, manager)
        api.put("parents", family.parent("ada", children=1))
        await eventually(lambda: api.names("configmaps") == ["ada-0"] and is_grown(api, children=1))


async def test_an_object_that_is_not_ours_is_left_alone_and_the_reason_is_told(
    api: Api, managing: Managing, caplog: pytest.LogCaptureFixture
) -> None:
    api.put("configmaps", {"metadata": {"name": "ada-1", "namespace": "default"}, "data": {"mine": "yes"}})
    api.put("parents", family.parent("ada"))

    def conditions() -> dict[str, Manifest]:
        found = (api.get("parents", "default", "ada").get("status") or {}).get("conditions") or []
        return {condition["type"]: condition for condition in found}

    async with managing():
        await eventually(lambda: "Stalled" in conditions())
        assert conditions()["Stalled"]["reason"] == "NameTaken"
        assert "ConfigMap default/ada-1 exists and is not ours" in conditions()["Stalled"]["message"]
        assert api.get("configmaps", "default", "ada-1")["data"] == {"mine": "yes"}
        api.remove("configmaps", Key("default", "ada-1"))
        await eventually(lambda: is_grown(api))
        assert set(conditions()) == {"Ready"}
    told = [record for record in caplog.records if "reconcile failed" in record.getMessage()]
    assert [record.exc_info for record in told] == [None] * len(told), "a person's mistake is no defect of ours"


async def test_what_the_server_calls_invalid_is_told_and_rarely_tried_again(api: Api, managing: Managing) -> None:
    api.fail("POST", "configmaps", 1000, 422, "Invalid")
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        result = manager.metrics._reconciles.labels("family", "terminal")._value
        await eventually(lambda: result.get() >= 1 and (manager.loops[0].queue.due_in(ADA) or 0) > REFUSED_PAUSE - 9)
        stalled = api.get("parents", "default", "ada")["status"]["conditions"][-1]
        assert (stalled["type"], stalled["status"], stalled["reason"]) == ("Stalled", "True", "Refused")
        assert manager.metrics._retries.labels("family")._value.get() == 0


async def defect() -> None:
    raise ZeroDivisionError("a defect")


async def wait_for_what_is_cancelled() -> None:
    waiting = asyncio.create_task(asyncio.Event().wait())
    waiting.cancel()
    await waiting


@pytest.mark.parametrize("fail", [defect, wait_for_what_is_cancelled])
async def test_a_defect_in_one_reconcile_does_not_stop_the_others(
    api: Api, managing: Managing, caplog: pytest.LogCaptureFixture, fail: Callable[[], Awaitable[None]]
) -> None:
    async def brittle(world: World, key: Key) -> Outcome:
        if key.name == "bad":
            await fail()
        return await family.reconcile(world, key)

    api.put("parents", family.parent("bad"))
    api.put("parents", family.parent("ada"))
    async with managing([dataclasses.replace(FAMILY, reconcile=brittle, workers=1)]) as manager:
        await eventually(lambda: is_grown(api))
        await eventually(lambda: manager.metrics._retries.labels("family")._value.get() >= 2)
    told = [record for record in caplog.records if "key=default/bad" in record.getMessage()]
    assert all(record.exc_info and record.levelno == logging.WARNING for record in told)


def no_keys(manifest: Manifest) -> list[Key]:
    return [Key("default", manifest["data"]["nowhere"])]


def odd_values(manifest: Manifest) -> list[str]:
    return [manifest["data"]]  # a dictionary, which nothing can be filed under


@pytest.mark.parametrize(
    "broken",
    [
        Trigger(CONFIG_MAPS, no_keys, labels=f"{family.LABEL}=yes"),
        Trigger(CONFIG_MAPS, lambda _: [], f"{family.LABEL}=yes", indexes={"odd": odd_values}),
    ],
    ids=["the keys of a change", "an index"],
)
async def test_an_object_that_a_controllers_own_function_cannot_read_stops_nobody(
    api: Api, managing: Managing, broken: Trigger, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once for each object, as long as there is room to remember that."""

    async def idle(_: World, __: Key) -> Outcome:
        return Done()

    async with managing([FAMILY, Controller("brittle", (broken,), idle)]) as manager:
        api.put("parents", family.parent("ada"))
        await grown(api, manager)
        api.remove("configmaps", Key("default", "ada-1"))
        await eventually(lambda: api.names("configmaps") == CHILDREN)
        await eventually(lambda: is_idle(manager))
        assert manager.metrics._left_out.labels("brittle")._value.get() >= 4
        assert manager.metrics._left_out.labels("family")._value.get() == 0
    told = [record for record in caplog.records if "object left out controller=brittle" in record.getMessage()]
    assert sorted(record.getMessage().partition(" key=")[2].split(":")[0] for record in told) == [
        f"default/{name}" for name in CHILDREN
    ]
    assert all(record.exc_info for record in told)


async def test_what_was_left_out_is_forgotten_before_it_fills_the_memory(
    api: Api, managing: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlling, "WARNINGS_REMEMBERED", 2)
    broken = Trigger(CONFIG_MAPS, no_keys, labels=f"{family.LABEL}=yes")
    async with managing([FAMILY, Controller("brittle", (broken,), FAMILY.reconcile)]) as manager:
        api.put("parents", family.parent("ada", children=9))
        await eventually(lambda: manager.metrics._left_out.labels("brittle")._value.get() >= 9)
        assert len(manager.loops[1]._warned) <= 2


async def test_who_asks_to_look_again_is_asked_again(api: Api, managing: Managing) -> None:
    looks = 0

    async def looking(_: World, __: Key) -> Outcome:
        nonlocal looks
        looks += 1
        return Done(look_again=0.01 if looks < 3 else None)

    api.put("parents", family.parent("ada"))
    async with managing([Controller("looking", FAMILY.triggers[:1], looking)]) as manager:
        await eventually(lambda: looks == 3 and is_idle(manager))


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({}, [ADA]),
        ({"controller": False}, []),
        ({"kind": "Other"}, []),
        ({"apiVersion": "other.org/v1"}, []),
        ({"apiVersion": "example.org/v2"}, [ADA]),
    ],
    ids=["ours", "not its controller", "another kind", "another group", "another version"],
)
def test_a_child_is_mapped_to_the_parent_that_controls_it(owner: Manifest, expected: list[Key]) -> None:
    made = family.child({**family.parent("ada"), "metadata": {"name": "ada", "namespace": "default", "uid": "u"}}, 0)
    made["metadata"]["ownerReferences"][0] |= owner
    assert list(key_of_owner(PARENTS)(made)) == expected


async def test_a_burst_of_changes_is_one_look(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await grown(api, manager)
        passes = manager.metrics._reconciles.labels("family", "done")._value
        before = passes.get()
        for number in range(50):
            changed = {"metadata": {"name": "ada-0", "namespace": "default", "annotations": {"n": str(number)}}}
            api.put("configmaps", changed)
        await eventually(lambda: passes.get() > before and is_idle(manager))
        assert passes.get() - before <= 2


async def test_the_same_event_again_only_raises_its_count(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada"))

    def events() -> list[Manifest]:
        return api.all("events")

    async with managing() as manager:
        await grown(api, manager)
        first = events()[0]["count"]
        manager.loops[0].queue.add(ADA)
        await eventually(lambda: events()[0]["count"] > first)
        assert [(event["reason"], event["involvedObject"]["name"]) for event in events()] == [("Grown", "ada")]


async def test_a_created_object_that_exists_already_is_fine_when_it_is_ours(api: Api, managing: Managing) -> None:
    """Nobody watches ConfigMaps here, so each pass creates again."""

    async def creating(world: World, key: Key) -> Outcome:
        observed = world.stores[PARENTS].get(key)
        if observed is None:
            return Done()
        plan = Plan(
            create=(Create(CONFIG_MAPS, family.child(observed, 0)),), status=Status(PARENTS, observed, {"children": 1})
        )
        return await world.execute(plan)

    api.put("parents", family.parent("ada"))
    async with managing([Controller("creating", FAMILY.triggers[:1], creating)]) as manager:
        done = manager.metrics._reconciles.labels("creating", "done")._value
        await eventually(lambda: done.get() >= 2)
        assert (api.names("configmaps"), manager.metrics._retries.labels("creating")._value.get()) == (["ada-0"], 0)


async def test_a_plan_that_cannot_work_ends_with_its_reason(api: Api, managing: Managing) -> None:
    async def hopeless(world: World, key: Key) -> Outcome:
        observed = world.stores[PARENTS].get(key)
        assert observed is not None
        terminal = Terminal("NoSuchRole", "there is no role named captain")
        return await world.execute(Plan(status=Status(PARENTS, observed, {}), terminal=terminal))

    api.put("parents", family.parent("ada"))
    async with managing([Controller("hopeless", FAMILY.triggers[:1], hopeless)]) as manager:
        await eventually(lambda: "status" in api.get("parents", "default", "ada") and is_idle(manager))
        (told,) = api.get("parents", "default", "ada")["status"]["conditions"]
        assert (told["reason"], told["message"]) == ("NoSuchRole", "there is no role named captain")
