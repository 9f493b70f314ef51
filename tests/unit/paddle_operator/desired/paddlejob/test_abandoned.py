"""Pods that were deleted and do not go: waited for while their node lives, struck off when it does not."""

from paddle_operator.desired.paddlejob.decision import Decision
from support.paddleworld import PaddleWorld, paddle_job, role


def world_with_a_deleted_pod(*, on_a_node: bool = True) -> PaddleWorld:
    world = PaddleWorld(paddle_job(worker=role(2)))
    world.full = True
    world.settle()
    world.run()
    world.settle()
    pod = world.pod("demo-worker-1")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    if on_a_node:
        pod["spec"]["nodeName"] = "node-3"
    return world


def struck(decision: Decision) -> list[str]:
    return [manifest["metadata"]["name"] for _, manifest in decision.strike]


def test_a_pod_gets_its_time_and_some_more() -> None:
    world = world_with_a_deleted_pod()
    world.silent_nodes = frozenset({"node-3"})
    world.later(29)
    decision = world.step()
    assert (struck(decision), decision.look_again) == ([], 1)


def test_a_pod_on_a_silent_node_is_struck_off_and_comes_back() -> None:
    world = world_with_a_deleted_pod()
    world.silent_nodes = frozenset({"node-3"})
    world.later(30)
    assert struck(world.step()) == ["demo-worker-1"]
    world.settle()
    assert world.pods == ["demo-worker-0", "demo-worker-1"]
    assert "deletionTimestamp" not in world.pod("demo-worker-1")["metadata"]


def test_a_pod_on_a_node_that_answers_is_left_to_it_and_looked_at_again() -> None:
    world = world_with_a_deleted_pod()
    world.later(3600)
    decision = world.step()
    assert (struck(decision), decision.look_again) == ([], 60)


def test_a_pod_that_never_was_on_a_node_is_not_struck_off() -> None:
    world = world_with_a_deleted_pod(on_a_node=False)
    world.silent_nodes = frozenset({""})
    world.later(3600)
    decision = world.step()
    assert (struck(decision), decision.look_again) == ([], None)


def test_pods_that_run_on_a_silent_node_are_left_alone() -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    world.run()
    world.pod("demo-worker-0")["spec"]["nodeName"] = "node-3"
    world.silent_nodes = frozenset({"node-3"})
    world.later(3600)
    assert struck(world.step()) == []


def test_an_ended_jobs_pods_on_a_silent_node_go_too() -> None:
    world = world_with_a_deleted_pod()
    world.fail("demo-worker-0")
    world.settle()
    world.silent_nodes = frozenset({"node-3"})
    world.later(60)
    assert struck(world.step()) == ["demo-worker-1"]


def test_pods_of_an_earlier_job_of_the_name_are_waited_for_and_struck_off_like_ones_own() -> None:
    world = PaddleWorld(paddle_job(worker=role(2)))
    metadata = {"name": "demo-worker-1", "deletionTimestamp": "2026-01-01T12:00:00Z"}
    world.leftovers = [{"metadata": metadata, "spec": {"nodeName": "node-3"}, "status": {"phase": "Running"}}]
    decision = world.step()
    assert (struck(decision), decision.look_again, world.pods) == ([], 30, ["demo-worker-0"])
    assert world.why == "PodsPending: 2 of 2 pods do not run yet; demo-worker-1: it is being deleted"
    world.later(30)
    world.silent_nodes = frozenset({"node-3"})
    assert struck(world.step(most=0)) == ["demo-worker-1"]
    world.leftovers = []
    assert world.settle().pods == ["demo-worker-0", "demo-worker-1"]
