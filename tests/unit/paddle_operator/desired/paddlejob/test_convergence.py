"""From anywhere, a job comes to the same end: killed after any write, at any turn of its life."""

import copy
from collections.abc import Callable

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training.settings import Scheduling
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role

JOBS = {
    "by name": paddle_job(ps=role(1), worker=role(2), backoffLimit=1),
    "by number": paddle_job(intranet="PodIP", ps=role(1), worker=role(2), backoffLimit=1),
    "by service": paddle_job(intranet="Service", ps=role(1), worker=role(2), backoffLimit=1),
    "on the hosts": paddle_job(intranet="Host", ps=role(1), worker=role(2), backoffLimit=1),
}
NATIVE = Settings(init_image=IMAGE, scheduling=Scheduling.NATIVE)
TURNS: dict[str, Callable[[PaddleWorld], None]] = {
    "a worker fails": lambda world: world.fail("demo-worker-1"),
    "the workers succeed": lambda world: world.succeed("demo-worker-0", "demo-worker-1"),
    "a pod is lost": lambda world: world.lose("demo-ps-0"),
    "more workers": lambda world: world.edit(worker=role(3)),
    "fewer workers": lambda world: world.edit(worker=role(1)),
    "suspended": lambda world: world.edit(suspend=True),
}


def running(job: Manifest, settings: Settings | None = None) -> PaddleWorld:
    world = PaddleWorld(job, settings).settle()
    world.run()
    return world.settle()


def seen(world: PaddleWorld) -> tuple[Manifest, list[str]]:
    """What is there, but for what differs from run to run."""
    status = copy.deepcopy(world.job["status"])
    for name in ("ps", "worker"):
        for reference in status.get(name, {}).get("refs", []):
            del reference["uid"]
    return status, sorted(name for _, name in world.objects)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("job", JOBS)
def test_killed_after_any_write_it_comes_to_the_same_end(job: str, turn: str) -> None:
    expected = running(JOBS[job], NATIVE)
    TURNS[turn](expected)
    writes = len(expected.writes)
    expected.settle()
    for number in range(len(expected.writes) - writes + 1):
        world = running(JOBS[job], NATIVE)
        TURNS[turn](world)
        for most in (number, 1, 2):
            world.step(most)
        assert seen(world.settle()) == seen(expected), f"killed after {number} writes"


@pytest.mark.parametrize("job", JOBS)
def test_killed_after_any_write_of_the_first_passes_all_pods_come_up(job: str) -> None:
    expected = running(JOBS[job])
    for number in range(len(expected.writes) + 1):
        world = PaddleWorld(JOBS[job])
        world.step(number)
        world.settle()
        world.run()
        assert seen(world.settle()) == seen(expected)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("job", JOBS)
def test_where_it_has_come_to_it_stays(job: str, turn: str) -> None:
    world = running(JOBS[job])
    TURNS[turn](world)
    writes = list(world.settle().writes)
    world.later(3600)
    assert world.settle().writes == writes
