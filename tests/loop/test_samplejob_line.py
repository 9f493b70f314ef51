"""Many SampleJobs of one set on the real loop: who is looked at when one of them, or a server, has something to say."""

import random
from dataclasses import replace

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control.controller import Controller, World
from paddle_operator.control.manager import Manager
from paddle_operator.control.outcome import Outcome
from paddle_operator.engines.operations import OperationState, Progress
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.managing import is_idle
from support.samplejobs import controllers, job, parts, stands, status, why
from support.samplesets import sample_set, secret

from .conftest import Managing, is_ready

CROWD = [f"job-{number:02}" for number in range(40)]


def noting(looks: list[str]) -> Controller:
    """Give the controller of jobs, which notes whom it looks at."""
    *_, made = controllers()

    async def reconcile(world: World, key: Key) -> Outcome:
        looks.append(key.name)
        return await made.reconcile(world, key)

    return replace(made, reconcile=reconcile)


def rests(manager: Manager, api: Api, names: list[str]) -> bool:
    """Tell whether all is written and seen, and nothing is due."""
    (store,) = [store for kind, store in manager.caches.stores.items() if kind.plural == "samplejobs"]
    seen = {found["metadata"]["name"]: found["metadata"]["resourceVersion"] for found in store}
    there = {found["metadata"]["name"]: found["metadata"]["resourceVersion"] for found in api.all("samplejobs")}
    return is_idle(manager) and seen == there and all(why(api, name) for name in names)


def has_ended(api: Api, name: str) -> bool:
    return status(api, name).get("phase") in ("Succeeded", "Failed")


async def test_who_comes_to_a_long_line_or_leaves_it_concerns_nobody_else(api: Api, managing: Managing) -> None:
    looks: list[str] = []
    api.put("samplesets", sample_set())
    for name in CROWD:
        api.put("samplejobs", job("clear", name))
    async with managing([noting(looks)]) as manager:
        await eventually(lambda: rests(manager, api, CROWD))
        looks.clear()
        api.put("samplejobs", job("clear", "later"))
        await eventually(lambda: rests(manager, api, [*CROWD, "later"]))
        assert set(looks) == {"later"}
        api.remove("samplejobs", Key("default", CROWD[20]))
        await eventually(lambda: CROWD[20] in looks and is_idle(manager))
        assert set(looks) == {"later", CROWD[20]}


async def test_while_a_job_works_those_behind_it_are_left_alone_until_their_turn(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    looks: list[str] = []
    await is_ready(api, managing)
    cluster.endings.clear()
    for name in CROWD:
        api.put("samplejobs", job("warmup", name))
    first, second = CROWD[:2]
    async with managing([*controllers()[:-1], noting(looks)]):
        await eventually(lambda: parts(api, first) == ["Running"])
        await eventually(lambda: all(f"waits for SampleJob {first}" in why(api, name) for name in CROWD[1:]))
        looks.clear()
        for done in range(10, 60, 10):
            cluster.runtime(0).tell(first, Progress(done, 100, done, 100))
            await eventually(lambda: status(api, first).get("progress") == f"{done}%")  # noqa: B023  # waited for here
        assert CROWD[-1] not in looks
        cluster.runtime(0).end(first, OperationState.SUCCEEDED)
        await eventually(stands(api, "Succeeded", first))
        await eventually(lambda: parts(api, second) == ["Running"])
        await eventually(lambda: all(f"waits for SampleJob {second}" in why(api, name) for name in CROWD[2:]))


async def test_a_job_that_is_made_anew_for_another_set_holds_up_nobody_in_the_line_that_it_left(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    api.put("samplejobs", job("clear", "a"))
    async with managing(controllers()):
        await eventually(lambda: parts(api, "a") == ["Running"])
        api.put("samplejobs", job("clear", "b"))
        api.put("samplejobs", job("clear", "c"))
        await eventually(lambda: "waits for SampleJob a, b" in why(api, "c"))
        api.remove("samplejobs", Key("default", "b"))
        api.put("samplejobs", job("clear", "b", sampleSetRef={"name": "another"}))
        await eventually(lambda: why(api, "c").endswith("waits for SampleJob a to end"))
        cluster.runtime(0).end("a", OperationState.SUCCEEDED)
        await eventually(lambda: parts(api, "c") == ["Running"])


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_comes_and_goes_all_have_their_turn(
    api: Api, managing: Managing, cluster: CacheCluster, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  # any order will do
    await is_ready(api, managing)
    async with managing(controllers()):
        for act in range(60):
            name = chance.choice(CROWD)
            if name in api.names("samplejobs"):
                api.remove("samplejobs", Key("default", name))
            else:
                keys = {"name": chance.choice(["imagenet", "imagenet", "later"])}
                api.put("samplejobs", job("sync", name, terminate=chance.random() < 0.1, secretRef=keys))
            if act == 40:
                api.put("secrets", {**secret(), "metadata": {**secret()["metadata"], "name": "later"}})
            await eventually(lambda: chance.random() < 0.5)
        await eventually(lambda: all(has_ended(api, name) for name in api.names("samplejobs")))
    begun = cluster.runtime(0).spool.begun
    assert len(begun) == len(set(begun))
