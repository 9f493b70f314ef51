"""What the loop believes stays true when the API server or the way to it is at fault."""

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Preconditions
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS
from support.managing import is_idle
from support.mishaps import Fault, Mishap

from .conftest import Managing

ADA = Key("default", "ada")


def is_grown(api: Api, members: int) -> bool:
    status = api.get("parents", *ADA).get("status") or {}
    ready = [found["status"] for found in status.get("conditions", [])] == ["True"]
    return ready and status["children"] == members == len(api.names("configmaps"))


def values(api: Api) -> set[str]:
    return {api.get("configmaps", "default", name)["data"]["value"] for name in api.names("configmaps")}


async def test_a_change_that_came_just_before_our_own_write_is_not_missed(api: Api, managing: Managing) -> None:
    """The answer to our write brings the change along; a list that shows the same must still be looked at."""
    api.fail("PATCH", "/status", 1_000_000, 409, "Conflict")
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await eventually(lambda: len(manager.caches.stores[CONFIG_MAPS]) == 3)
        struck = len(api.struck)
        await eventually(lambda: len(api.struck) >= struck + 3)  # by now nothing but the next try is waited for
        api.freeze_watches()
        api.put("parents", family.parent("ada", value="two"))
        api.faults.clear()
        await eventually(lambda: "status" in api.get("parents", *ADA) and is_idle(manager))
        assert values(api) == {"one"}
        api.forget()
        api.cut_watches()
        await eventually(lambda: values(api) == {"two"})


async def test_a_delete_refused_for_whatever_reason_is_tried_again(api: Api, managing: Managing) -> None:
    """A conflict may mean that another object has the name now, or that the server could not do it this time."""
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await eventually(lambda: is_grown(api, 3) and is_idle(manager))
        api.fail("DELETE", "configmaps", 4, 409, "Conflict")
        api.put("parents", family.parent("ada", children=1))
        await eventually(lambda: is_grown(api, 1))


async def test_what_existed_and_is_gone_when_looked_at_is_created_after_all(api: Api, managing: Managing) -> None:
    api.fail("POST", "configmaps", 6, 409, "AlreadyExists")
    api.put("parents", family.parent("ada", children=0, pets=2))
    async with managing():
        await eventually(lambda: is_grown(api, 2))


async def test_a_pet_is_replaced_and_not_changed(api: Api, managing: Managing) -> None:
    api.put("parents", family.parent("ada", children=1, pets=1))
    async with managing() as manager:
        await eventually(lambda: is_grown(api, 2) and is_idle(manager))
        before = {name: api.get("configmaps", "default", name)["metadata"]["uid"] for name in api.names("configmaps")}
        api.put("parents", family.parent("ada", children=1, pets=1, value="two"))
        await eventually(lambda: is_grown(api, 2) and values(api) == {"two"} and is_idle(manager))
        after = {name: api.get("configmaps", "default", name)["metadata"]["uid"] for name in api.names("configmaps")}
    assert after["ada-0"] == before["ada-0"]
    assert after["ada-pet-0"] != before["ada-pet-0"]


@pytest.mark.parametrize("mishap", [Mishap(), Mishap(after=True)], ids=["before it was done", "after it was done"])
async def test_a_delete_of_whoever_has_the_name_is_not_sent_again_by_anybody(
    api: Api, client: Client, mishap: Mishap
) -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "default"}})
    api.faults.append(Fault("DELETE", "configmaps", 1, mishap))
    with pytest.raises(errors.UnreachableError):
        await client.delete(CONFIG_MAPS, Key("default", "one"), Preconditions())
    assert api.requests["DELETE"] == 1
