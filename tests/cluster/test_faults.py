"""Whatever happens between a manager and the real API server: all becomes as wanted, and nothing is done twice."""

from collections import Counter

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.api.manifest import key_of
from paddle_operator.kube import client as wire
from paddle_operator.kube import config
from paddle_operator.kube.config import Config
from paddle_operator.kube.events import EVENTS
from paddle_operator.kube.request import Scope
from support.eventually import eventually
from support.managing import QUICKLY, is_idle, passes
from support.stage import IN_THE_END, Stage, change_everything, staged
from support.troubles import TROUBLES, Trouble

pytestmark = pytest.mark.usefixtures("parents_collected")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY", QUICKLY)


@pytest.fixture
def server(kube: Cluster) -> Config:
    return config.load(str(kube.paths.kubeconfig))


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_after_any_trouble_the_world_is_as_wanted_and_nothing_was_made_twice(
    server: Config, namespace: Kubectl, trouble: Trouble
) -> None:
    async with staged(server, namespace.namespace) as stage:
        async with trouble(stage):
            await change_everything(stage)
        await stage.ledger.right()
        assert {key_of(parent).name for parent in stage.ledger.parents} == IN_THE_END
        assert stage.ledger.wrongs() == []
        assert await twice_told(stage) == []
        stage.proxy.fail_writes(0)
        await rests(stage)


async def twice_told(stage: Stage) -> list[tuple[str, ...]]:
    """Name the events that are there more than once."""
    events = (await stage.client.list(Scope(EVENTS, stage.namespace))).items
    told = Counter((event["involvedObject"]["uid"], event["reason"], event["message"]) for event in events)
    return [what for what, times in told.items() if times > 1]


async def rests(stage: Stage) -> None:
    """Look at every parent once more: there is nothing to write."""
    await eventually(lambda: is_idle(stage.manager))
    before, passed = len(stage.proxy.writes), passes(stage.manager, "family")
    for parent in stage.ledger.parents:
        stage.manager.loops[0].queue.add(key_of(parent))
    await eventually(
        lambda: passes(stage.manager, "family") >= passed + len(stage.ledger.parents) and is_idle(stage.manager)
    )
    assert [write for write in stage.proxy.writes[before:] if " events/" not in write] == []


async def test_what_the_server_calls_invalid_waits_for_a_change_and_then_goes_on(
    server: Config, namespace: Kubectl
) -> None:
    async with staged(server, namespace.namespace) as stage:
        stage.proxy.fail("PATCH", "/configmaps", 1, 422, "Invalid")
        await stage.change("changes", value="two")
        await eventually(lambda: "Refused" in str(stage.ledger.complaints()))
        await eventually(lambda: is_idle(stage.manager))
        await stage.change("changes", value="three")
        await stage.ledger.right()
        assert stage.ledger.wrongs() == []
