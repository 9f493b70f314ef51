"""A pod's status from its containers' states."""

from datetime import UTC, datetime, timedelta

import pytest

from paddle_operator.embedded.node import podstatus
from paddle_operator.embedded.node.podstatus import Condition, ContainerState

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def waits() -> ContainerState:
    return ContainerState("main", "demo", podstatus.waiting("ContainerCreating"))


def runs(*, ready: bool = True) -> ContainerState:
    return ContainerState("main", "demo", podstatus.running(NOW), ready=ready)


def ended(code: int) -> ContainerState:
    return ContainerState("main", "demo", podstatus.terminated(code, NOW, NOW))


@pytest.mark.parametrize(
    ("policy", "first", "main", "wanted"),
    [
        pytest.param("Never", [], [waits()], "Pending", id="not begun"),
        pytest.param("Never", [runs()], [waits()], "Pending", id="still initializing"),
        pytest.param("Never", [ended(1)], [waits()], "Failed", id="initializing failed"),
        pytest.param("OnFailure", [ended(1)], [waits()], "Pending", id="initializing is tried again"),
        pytest.param("Never", [ended(0)], [runs()], "Running", id="it runs"),
        pytest.param("Never", [], [runs(), ended(1)], "Running", id="one of two still runs"),
        pytest.param("Never", [], [ended(0), ended(0)], "Succeeded", id="all ended well"),
        pytest.param("Never", [], [ended(0), ended(3)], "Failed", id="one ended badly"),
        pytest.param("OnFailure", [], [ended(3)], "Running", id="it is started again"),
        pytest.param("Always", [], [ended(0)], "Running", id="it is always started again"),
    ],
)
def test_the_phase_follows_from_the_policy(
    policy: str, first: list[ContainerState], main: list[ContainerState], wanted: str
) -> None:
    assert podstatus.phase(policy, first, main) == wanted


@pytest.mark.parametrize(
    ("state", "ready"),
    [
        pytest.param(runs(), True, id="it runs and is ready"),
        pytest.param(runs(ready=False), False, id="it runs and is not ready"),
    ],
)
def test_a_pod_is_ready_when_its_containers_are(state: ContainerState, *, ready: bool) -> None:
    assert podstatus.held("Running", [], [state])[Condition.READY][0] is ready


def test_a_condition_that_did_not_change_keeps_its_time() -> None:
    held = podstatus.held("Running", [], [runs()])
    before = podstatus.conditions([], held, NOW)
    assert podstatus.conditions(before, held, NOW + timedelta(minutes=1)) == before
    changed = podstatus.conditions(
        before, podstatus.held("Running", [], [runs(ready=False)]), NOW + timedelta(minutes=1)
    )
    times = {found["type"]: found["lastTransitionTime"] for found in changed}
    assert times["Ready"] == "2026-01-02T03:05:05Z"
    assert times["PodScheduled"] == "2026-01-02T03:04:05Z"
