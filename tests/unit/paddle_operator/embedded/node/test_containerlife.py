"""A container that is asked to end, at whatever moment."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from paddle_operator.embedded.node import containers, podstatus
from paddle_operator.embedded.node.containerlife import ContainerLife
from paddle_operator.embedded.node.containers import Process
from paddle_operator.embedded.node.launch import KILL, Spec
from paddle_operator.embedded.node.podstatus import ContainerState

SPEC = Spec(
    argv=("sleep", "60"),
    environment={},
    directory="/",
    hostname="demo",
    stage="",
    scratch="",
    mounts=(),
    network=-1,
    outside="",
    report=-1,
)

SLOW = msgspec.structs.replace(
    SPEC, argv=("sh", "-c", "trap 'sleep 1.5; exit 7' TERM; echo begun; while :; do sleep 0.05; done")
)


class Starts:
    """Starts of a container, each of which takes until it is let."""

    def __init__(self) -> None:
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.number = 0

    async def start(self, spec: Spec, _: Path) -> Process:
        self.number += 1
        self.begun.set()
        await self.let.wait()
        process = await asyncio.create_subprocess_exec(*spec.argv, stdout=asyncio.subprocess.PIPE)
        if spec is SLOW and process.stdout is not None:
            await process.stdout.readline()  # it is prepared to be asked
        return Process(process)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    made = Starts()
    monkeypatch.setattr(containers, "start", made.start)
    return made


def life(log: Path, spec: Spec = SPEC) -> ContainerLife:
    async def specify() -> Spec:
        return spec

    async def changed() -> None:
        """Nobody is told."""

    state = ContainerState("main", "demo", podstatus.waiting("ContainerCreating"))
    return ContainerLife({}, "", "Always", specify, lambda _: log, changed, state, grace=30)


async def test_one_that_is_stopped_while_it_is_started_ends(starts: Starts, tmp_path: Path) -> None:
    container = life(tmp_path / "log")
    running = asyncio.create_task(container.run())
    await starts.begun.wait()
    stopping = asyncio.create_task(container.stop(grace=10))
    await asyncio.sleep(0)
    starts.let.set()
    async with asyncio.timeout(5):
        await stopping
        assert await running == -15
    assert "terminated" in container.state.state


async def test_one_that_is_stopped_before_it_is_started_never_is(starts: Starts, tmp_path: Path) -> None:
    container = life(tmp_path / "log")
    await container.stop(grace=10)
    assert await container.run() == 0
    assert starts.number == 0


async def test_one_that_has_ended_already_may_be_stopped(starts: Starts, tmp_path: Path) -> None:
    container = life(tmp_path / "log")
    container.policy = "Never"
    starts.let.set()
    running = asyncio.create_task(container.run())
    await starts.begun.wait()
    await container.stop(grace=10)
    await running
    await container.stop(grace=10)
    assert starts.number == 1


@pytest.mark.parametrize(
    ("grace", "own", "code"),
    [
        pytest.param(30, {}, 7, id="the pod's"),
        pytest.param(30, {"terminationGracePeriodSeconds": 0}, -KILL, id="the probe's own"),
        pytest.param(0, {}, -KILL, id="none"),
    ],
)
@pytest.mark.parametrize("probe", ["livenessProbe", "startupProbe"])
async def test_one_that_does_not_answer_has_its_grace_to_end(
    starts: Starts, tmp_path: Path, probe: str, grace: float, own: dict[str, int], code: int
) -> None:
    container = life(tmp_path / "log", SLOW)
    container.policy, container.grace, container.address = "Never", grace, "127.0.0.1"
    container.container = {probe: {"tcpSocket": {"port": 1}, "failureThreshold": 1, "periodSeconds": 1, **own}}
    starts.let.set()
    async with asyncio.timeout(10):
        assert await container.run() == code
