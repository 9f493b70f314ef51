"""A pod's status from its containers' states."""

from dataclasses import replace
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


def beside(state: ContainerState) -> ContainerState:
    return replace(state, name="beside", sidecar=True, begun=state.runs)


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
        pytest.param("Never", [beside(waits())], [waits()], "Pending", id="its sidecar does not run yet"),
        pytest.param("Never", [beside(runs())], [runs()], "Running", id="it runs with a sidecar"),
        pytest.param("Never", [beside(runs())], [ended(0)], "Running", id="its sidecar is still to end"),
        pytest.param("Never", [beside(ended(143))], [ended(0)], "Succeeded", id="its sidecar was ended"),
        pytest.param("Never", [beside(runs()), ended(1)], [waits()], "Running", id="a failure with a sidecar to end"),
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


@pytest.mark.parametrize(("sidecar", "ready"), [(runs(), True), (runs(ready=False), False)])
def test_a_sidecar_is_waited_for_to_be_ready(sidecar: ContainerState, *, ready: bool) -> None:
    held = podstatus.held("Running", [beside(sidecar)], [runs()])
    assert [held[name][0] for name in (Condition.INITIALIZED, Condition.READY)] == [True, ready]


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
