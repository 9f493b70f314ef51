"""What has lost its owners goes, and what waits for its dependents waits."""

import asyncio

import pytest

from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.kube import errors
from paddle_operator.kube.request import Preconditions, Propagation
from support import family
from support.family import CONFIG_MAPS, PARENTS

from .conftest import LONGEST_TEST, PAUSE, Api, gone


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> None:
    """Have a real garbage collector that knows what the tests are about."""
    if request.node.get_closest_marker("cluster"):
        request.getfixturevalue("collecting")


def owner(of: Manifest, **more: object) -> Manifest:
    name = of["metadata"]["name"]
    return {"apiVersion": "example.org/v1", "kind": "Parent", "name": name, "uid": uid_of(of), **more}


def owned(api: Api, name: str, *owners: Manifest) -> Manifest:
    wanted = api.config_map(name)
    wanted["metadata"]["ownerReferences"] = list(owners)
    return wanted


async def parent(api: Api, name: str = "ada") -> Manifest:
    return await api.client.create(PARENTS, family.parent(name, api.namespace))


async def owners_become(api: Api, key: Key, names: list[str]) -> None:
    async with asyncio.timeout(LONGEST_TEST / 2):
        while True:
            found = (await api.client.get(CONFIG_MAPS, key))["metadata"].get("ownerReferences") or []
            if [reference["name"] for reference in found] == names:
                return
            await asyncio.sleep(PAUSE)


async def deletion_begins(api: Api, key: Key) -> None:
    async with asyncio.timeout(LONGEST_TEST / 2):
        while True:
            if "deletionTimestamp" in (await api.client.get(CONFIG_MAPS, key))["metadata"]:
                return
            await asyncio.sleep(PAUSE)


async def test_children_go_after_their_parent(api: Api) -> None:
    ada = await parent(api)
    await api.client.create(CONFIG_MAPS, owned(api, "child", owner(ada)))
    await api.client.delete(PARENTS, api.key("ada"), Preconditions(uid_of(ada)), Propagation.BACKGROUND)
    with pytest.raises(errors.NotFoundError):
        await api.client.get(PARENTS, api.key("ada"))
    await gone(api.client, CONFIG_MAPS, api.key("child"))


async def test_a_child_of_two_stays_with_the_other(api: Api) -> None:
    ada, eve = await parent(api), await parent(api, "eve")
    await api.client.create(CONFIG_MAPS, owned(api, "child", owner(ada), owner(eve)))
    await api.client.delete(PARENTS, api.key("ada"), Preconditions(uid_of(ada)))
    await owners_become(api, api.key("child"), ["eve"])


async def test_a_child_of_nobody_goes(api: Api) -> None:
    stranger = {"metadata": {"name": "nobody", "uid": "11111111-2222-3333-4444-555555555555"}}
    await api.client.create(CONFIG_MAPS, owned(api, "child", owner(stranger)))
    await gone(api.client, CONFIG_MAPS, api.key("child"))


async def test_a_parent_deleted_in_the_foreground_waits_for_its_children(api: Api) -> None:
    ada = await parent(api)
    child = owned(api, "child", owner(ada, blockOwnerDeletion=True))
    child["metadata"]["finalizers"] = ["example.org/wait"]
    await api.client.create(CONFIG_MAPS, child)
    await api.client.delete(PARENTS, api.key("ada"), Preconditions(uid_of(ada)), Propagation.FOREGROUND)
    waiting = await api.client.get(PARENTS, api.key("ada"))
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    await deletion_begins(api, api.key("child"))
    await api.client.patch(CONFIG_MAPS, api.key("child"), {"metadata": {"finalizers": None}})
    await gone(api.client, CONFIG_MAPS, api.key("child"))
    await gone(api.client, PARENTS, api.key("ada"))


async def test_orphans_stay_without_an_owner(api: Api) -> None:
    ada = await parent(api)
    await api.client.create(CONFIG_MAPS, owned(api, "child", owner(ada)))
    await api.client.delete(PARENTS, api.key("ada"), Preconditions(uid_of(ada)), Propagation.ORPHAN)
    await gone(api.client, PARENTS, api.key("ada"))
    await owners_become(api, api.key("child"), [])


async def test_an_object_has_one_controller(api: Api) -> None:
    ada, eve = await parent(api), await parent(api, "eve")
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.create(
            CONFIG_MAPS, owned(api, "child", owner(ada, controller=True), owner(eve, controller=True))
        )
    assert "Only one reference can have Controller set to true" in refused.value.message
