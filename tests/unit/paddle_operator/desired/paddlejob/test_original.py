"""What the original operator did wrong, where no other file is about it."""

import pytest

from support.paddleworld import PaddleWorld, paddle_job, role


@pytest.mark.parametrize("intranet", ["", "PodIP", "Service"])
def test_a_jobs_port_does_not_depend_on_chance(intranet: str) -> None:
    """The original took one by chance, the same again after each start of the manager."""
    for name in ("demo", "another"):
        world = PaddleWorld(paddle_job(name, intranet=intranet, ps=role(1), worker=role(1))).settle()
        world.run()
        config = world.settle().config
        assert config["PADDLE_PORT"] == "36000"
        assert config["PADDLE_PSERVERS_IP_PORT_LIST"].endswith(":36000")


def test_nothing_is_left_of_a_completed_job_but_itself() -> None:
    world = PaddleWorld(paddle_job(intranet="Service", ps=role(2), worker=role(2))).settle()
    world.run()
    world.settle()
    world.succeed("demo-worker-0", "demo-worker-1")
    world.settle()
    assert (world.status.phase, world.objects) == ("Completed", {})


def test_a_range_without_elastic_is_warned_about_once() -> None:
    world = PaddleWorld(paddle_job(worker={**role(2), "requests": 1, "limits": 4})).settle()
    world.run()
    world.settle()
    assert world.told == ["NoEffect!", "Running"]
