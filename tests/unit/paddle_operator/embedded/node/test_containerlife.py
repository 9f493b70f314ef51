"""A container that is asked to end, at whatever moment."""

import asyncio
from pathlib import Path

import pytest

from paddle_operator.embedded.node import containers, podstatus
from paddle_operator.embedded.node.containerlife import ContainerLife
from paddle_operator.embedded.node.containers import Process
from paddle_operator.embedded.node.launch import Spec
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


class Starts:
    """Starts of a container, each of which takes until it is let."""

    def __init__(self) -> None:
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.number = 0

    async def start(self, spec: Spec, _: Path) -> Process:
        self.number += 1
        self.begun.set()
        await self.let.wait()
        return Process(await asyncio.create_subprocess_exec(*spec.argv))


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    made = Starts()
    monkeypatch.setattr(containers, "start", made.start)
    return made


def life(log: Path) -> ContainerLife:
    async def specify() -> Spec:
        return SPEC

    async def changed() -> None:
        """Nobody is told."""

    state = ContainerState("main", "demo", podstatus.waiting("ContainerCreating"))
    return ContainerLife({}, "", "Always", specify, lambda _: log, changed, state)


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
