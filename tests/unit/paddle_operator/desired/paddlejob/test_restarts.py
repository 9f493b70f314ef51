"""Containers and pods that start again: how often, and until when."""

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
