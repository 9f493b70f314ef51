"""Containers and pods that start again: how often, and until when."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import ANNOTATION_ATTEMPT
from support.paddleworld import PaddleWorld, paddle_job, role

WORKERS = ["demo-worker-0", "demo-worker-1"]


def running(job: Manifest) -> PaddleWorld:
    world = PaddleWorld(job).settle()
    world.run()
    return world.settle()


def test_a_job_that_would_never_end_is_warned_of_and_ends() -> None:
    world = running(paddle_job(worker=role(2, restartPolicy="Always")))
    assert world.told == ["NoEffect!", "Running"]
    world.succeed(*WORKERS)
    assert world.settle().status.phase == "Completed"


@pytest.mark.parametrize(
    ("limit", "restarts", "phase"),
    [
        (None, 9, "Running"),
        (0, 0, "Running"),
        (0, 1, "Failed"),
        (2, 2, "Running"),
        (2, 3, "Failed"),
    ],
)
def test_a_job_whose_containers_are_started_again_too_often_has_failed(
    limit: int | None, restarts: int, phase: str
) -> None:
    world = running(paddle_job(intranet="Service", worker=role(2), backoffLimit=limit))
    for name in WORKERS:
        world.pod(name)["status"]["containerStatuses"][0]["restartCount"] = restarts
    world.settle()
    assert world.status.phase == phase
    if phase == "Failed":
        assert world.why == (
            f"BackoffLimitExceeded: the node of demo-worker-0 started its containers again {restarts} times,"
            f" more often than backoffLimit, {limit}, allows"
        )


def test_a_worker_that_ended_well_at_last_may_have_been_started_again_at_will() -> None:
    world = running(paddle_job(intranet="Service", worker=role(2), backoffLimit=1))
    world.succeed("demo-worker-0")
    world.pod("demo-worker-0")["status"]["containerStatuses"][0]["restartCount"] = 5
    assert world.settle().status.phase == "Running"


def test_the_deadline_holds_while_a_failed_job_waits_to_start_anew() -> None:
    world = running(paddle_job(worker=role(2), activeDeadlineSeconds=100, backoffLimit=9))
    world.job["status"]["restarts"] = 7
    for name in WORKERS:
        world.pod(name)["metadata"]["annotations"][ANNOTATION_ATTEMPT] = "7"
    world.later(90)
    world.fail("demo-worker-0")
    world.settle()
    assert (world.status.phase, world.step().look_again) == ("Restarting", 10)
    world.later(10)
    world.settle()
    assert (world.status.phase, world.why[:16]) == ("Failed", "DeadlineExceeded")
