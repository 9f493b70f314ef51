"""The status of a job: from its pods as they are now, in words that say why."""

import datetime as dt

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.observedpod import Bucket, bucket_of, ended_at
from support.paddleworld import PaddleWorld, paddle_job, ran, role

READY = {"name": "train", "ready": True, "state": {"running": {}}}
UNREADY = {"name": "train", "ready": False, "state": {"running": {}}}
DONE = {"name": "side", "ready": False, "state": ran()}
UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}
    ],
}
NO_IMAGE = {
    "phase": "Pending",
    "containerStatuses": [
        {"name": "train", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    ],
}


@pytest.mark.parametrize(
    ("status", "bucket"),
    [
        pytest.param({}, Bucket.PENDING, id="nobody has looked at it"),
        pytest.param({"phase": "Pending"}, Bucket.PENDING, id="not on a node"),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [{"name": "coord-paddle", "state": {"running": {}}}]},
            Bucket.STARTING,
            id="waits for its peers",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [{"name": "fetch", "state": {"running": {}}}]},
            Bucket.PENDING,
            id="runs an init container of the user's",
        ),
        pytest.param({"phase": "Running"}, Bucket.STARTING, id="no container yet"),
        pytest.param({"phase": "Running", "containerStatuses": [UNREADY]}, Bucket.STARTING, id="not ready"),
        pytest.param({"phase": "Running", "containerStatuses": [READY, UNREADY]}, Bucket.STARTING, id="one not ready"),
        pytest.param({"phase": "Running", "containerStatuses": [READY]}, Bucket.RUNNING, id="ready"),
        pytest.param({"phase": "Running", "containerStatuses": [READY, DONE]}, Bucket.RUNNING, id="one has ended well"),
        pytest.param({"phase": "Failed"}, Bucket.FAILED, id="failed"),
        pytest.param({"phase": "Succeeded"}, Bucket.SUCCEEDED, id="succeeded"),
        pytest.param({"phase": "Unknown"}, Bucket.UNKNOWN, id="its node is silent"),
    ],
)
def test_a_pod_is_counted_once(status: Manifest, bucket: Bucket) -> None:
    assert bucket_of(status) is bucket


@pytest.mark.parametrize(
    ("policy", "bucket"),
    [
        pytest.param("Never", Bucket.RUNNING, id="for good"),
        pytest.param("OnFailure", Bucket.STARTING, id="to be started again"),
    ],
)
def test_a_pod_whose_container_has_failed_starts_only_if_it_is_started_again(policy: str, bucket: Bucket) -> None:
    ended = {"name": "train", "ready": False, "state": {"terminated": {"exitCode": 3}}}
    assert bucket_of({"phase": "Running", "containerStatuses": [ended]}, policy) is bucket


def test_the_status_whole() -> None:
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(2))).settle()
    world.run()
    world.settle()
    reference = {"apiVersion": "v1", "kind": "Pod", "namespace": "team"}
    revision = world.pod("demo-ps-0")["metadata"]["annotations"]["paddlepaddle.org/template-hash"]
    assert world.job["status"] == {
        "revision": revision,
        "phase": "Running",
        "mode": "PS",
        "ps": {"running": 1, "refs": [{**reference, "name": "demo-ps-0", "uid": "Pod-1"}]},
        "worker": {
            "running": 2,
            "refs": [
                {**reference, "name": "demo-worker-0", "uid": "Pod-2"},
                {**reference, "name": "demo-worker-1", "uid": "Pod-3"},
            ],
        },
        "startTime": "2026-01-01T12:00:00Z",
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "reason": "PodsRunning",
                "message": "3 of 3 pods run",
                "lastTransitionTime": "2026-01-01T12:00:00Z",
                "observedGeneration": 1,
            }
        ],
    }


@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        ({"ps": role(1), "worker": role(2)}, "PS"),
        ({"ps": role(1)}, "PS"),
        ({"worker": role(2)}, "Collective"),
        ({"worker": role(1)}, "Single"),
        ({"heter": role(2)}, "Single"),
    ],
)
def test_the_mode_follows_from_the_roles(spec: Manifest, mode: str) -> None:
    assert PaddleWorld(paddle_job("demo", **spec)).settle().status.mode == mode


@pytest.mark.parametrize(
    ("status", "phase", "why"),
    [
        pytest.param(
            UNSCHEDULABLE,
            "Pending",
            "PodsPending: 1 of 2 pods do not run yet; demo-worker-1: 0/3 nodes are available: 3 Insufficient cpu.",
            id="the scheduler's words",
        ),
        pytest.param(
            NO_IMAGE,
            "Pending",
            "PodsPending: 1 of 2 pods do not run yet; demo-worker-1: ImagePullBackOff: no such image",
            id="the kubelet's words",
        ),
        pytest.param(
            {"phase": "Running", "containerStatuses": [UNREADY]},
            "Starting",
            "PodsStarting: 1 of 2 pods are starting",
            id="nobody says anything",
        ),
        pytest.param(
            {"phase": "Unknown"},
            "Starting",
            "PodsStarting: 1 of 2 pods are starting; demo-worker-1: its node does not answer",
            id="the node is silent",
        ),
        pytest.param(
            {"phase": "Succeeded"}, "Running", "PodsRunning: 1 of 2 pods run, 1 have ended", id="one has ended well"
        ),
    ],
)
def test_the_phase_is_that_of_the_pods_now_and_the_condition_says_why(status: Manifest, phase: str, why: str) -> None:
    """The original's phase was one write behind, hid failures, and fell back to Pending between Running and the end."""
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    world.run("demo-worker-0")
    world.pod("demo-worker-1")["status"] = status
    world.step()
    assert (world.status.phase, world.why) == (phase, why)


def test_a_pod_ended_when_its_last_container_did() -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    times = ("2026-01-01T12:00:07Z", "2026-01-01T12:00:05Z")
    ended = [{"name": "train", "state": ran(1, "Error", time)} for time in times]
    world.pod("demo-worker-0")["status"] = {"phase": "Failed", "containerStatuses": ended}
    (pod,) = world.snapshot().pods
    assert ended_at(pod) == world.now + dt.timedelta(seconds=7)


def test_a_failed_role_is_not_hidden_by_another_that_is_starting() -> None:
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(1))).settle()
    world.fail("demo-ps-0")
    assert world.settle().status.phase == "Failed"


def test_the_start_is_when_it_was_first_seen_running_and_the_end_when_it_was_first_seen_ended() -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    assert "startTime" not in world.job["status"]
    world.later(5)
    world.run()
    started = world.settle().now
    world.later(5)
    world.lose("demo-worker-0")
    world.settle()
    world.run()
    world.settle()
    world.later(5)
    world.succeed("demo-worker-0")
    ended = world.settle().now
    world.later(5)
    world.settle()
    assert (world.status.start_time, world.status.completion_time) == (started, ended)


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    since = world.status.conditions[0].last_transition_time
    world.later(5)
    world.run("demo-worker-0")
    world.settle()
    assert world.status.conditions[0].last_transition_time == since
    world.run("demo-worker-1")
    world.settle()
    assert world.status.conditions[0].last_transition_time == world.now


def test_the_status_says_which_generation_it_is_about() -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    world.edit(backoffLimit=2)
    world.settle()
    assert world.status.observed_generation == 2
    assert {told.observed_generation for told in world.status.conditions} == {2}


def test_references_are_in_the_order_of_the_pods_and_fit_into_an_object() -> None:
    world = PaddleWorld(paddle_job(worker=role(1200))).settle()
    worker = world.status.worker
    assert worker is not None
    assert (worker.pending, len(worker.refs)) == (1200, 500)
    assert [reference.name for reference in worker.refs[8:12]] == [f"demo-worker-{number}" for number in range(8, 12)]
    assert len(msgspec.json.encode(world.status)) < 100_000


def test_what_a_container_printed_is_not_quoted() -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    world.fail("demo-worker-0")
    world.pod("demo-worker-0")["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = "token=hunter2"
    world.settle()
    assert "hunter2" not in str(world.job["status"])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Failed"}, "demo-worker-0 failed"),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."},
            "demo-worker-0 failed: Evicted: The node was low on memory.",
        ),
    ],
)
def test_a_pod_that_failed_as_a_whole_says_why(status: Manifest, words: str) -> None:
    world = PaddleWorld(paddle_job(worker=role(1))).settle()
    world.pod("demo-worker-0")["status"] = status
    assert world.settle().status.conditions[1].message == words
