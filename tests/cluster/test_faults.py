"""Whatever happens between a manager and the real API server: all becomes as wanted, and nothing is done twice."""

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.kube import client as wire
from paddle_operator.kube import config
from paddle_operator.kube.config import Config
from support.eventually import eventually
from support.managing import QUICKLY, is_idle
from support.stage import change_everything, ends_well, staged
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
        await ends_well(stage)


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
