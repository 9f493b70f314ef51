"""What the loop believes stays true when the API server or the way to it is at fault."""

from collections.abc import AsyncIterator

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.kube import client as wire
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from support import family, faultproxy
from support.eventually import eventually
from support.fakeapi import FakeApi
from support.family import CONFIG_MAPS
from support.faultproxy import FaultProxy
from support.managing import is_idle

from .conftest import Managing

ADA = Key("default", "ada")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY", Backoff(0.001, 0.001))


@pytest.fixture
async def proxy(api: FakeApi) -> AsyncIterator[FaultProxy]:
    async with faultproxy.running(api.config) as running:
        yield running


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[Client]:
    async with Client(proxy.config, "tester", timeout=5.0) as opened:
        yield opened


def values(api: FakeApi) -> set[str]:
    return {api.get("configmaps", "default", name)["data"]["value"] for name in api.names("configmaps")}


async def test_a_change_that_came_just_before_our_own_write_is_not_missed(
    api: FakeApi, proxy: FaultProxy, managing: Managing
) -> None:
    """The answer to our write brings the change along; a list that shows the same must still be looked at."""
    proxy.fail("PATCH", "/status", 1_000_000, 409, "Conflict")
    api.put("parents", family.parent("ada"))
    async with managing() as manager:
        await eventually(lambda: len(manager.caches.stores[CONFIG_MAPS]) == 3)
        struck = len(proxy.struck)
        await eventually(lambda: len(proxy.struck) >= struck + 3)  # by now nothing but the next try is waited for
        proxy.freeze_watches()
        api.put("parents", family.parent("ada", value="two"))
        proxy.faults.clear()
        await eventually(lambda: "status" in api.get("parents", *ADA) and is_idle(manager))
        assert values(api) == {"one"}
        api.objects.forget_history()
        proxy.cut_watches()
        await eventually(lambda: values(api) == {"two"})
