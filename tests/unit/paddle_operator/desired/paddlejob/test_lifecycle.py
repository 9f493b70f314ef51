"""A job's life, from its first pod to its last: ends, restarts, suspension, edits and deletion."""

from collections.abc import Callable

import pytest

from paddle_operator.api.paddlejob import RoleStatus
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training.decision import Piece
from paddle_operator.desired.training.settings import Scheduling
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role

PS_JOB = paddle_job(ps=role(1), worker=role(2))
PODS = ["demo-ps-0", "demo-worker-0", "demo-worker-1"]
WORKERS = PODS[1:]


def running(job: object = None, **spec: object) -> PaddleWorld:
    base = PS_JOB if job is None else job
    assert isinstance(base, dict)
    world = PaddleWorld({**base, "spec": {**base["spec"], **spec}}).settle()
    world.run()
    return world.settle()


def test_all_pods_are_made_in_one_pass() -> None:
    world = PaddleWorld(PS_JOB)
    world.step()
    assert world.pods == PODS
    assert world.writes[-1] == "write status"


def test_the_second_pass_writes_nothing() -> None:
    world = running()
    writes = list(world.writes)
    assert world.settle().writes == writes


def test_a_pod_that_disappears_comes_back_alone() -> None:
    world = running()
    kept = world.pod("demo-worker-1")["metadata"]["uid"]
    world.lose("demo-worker-0")
    world.settle()
    assert world.pods == PODS
    assert world.pod("demo-worker-1")["metadata"]["uid"] == kept
    assert world.status.restarts == 0


def test_a_worker_that_ended_well_is_not_run_again_though_its_pod_is_lost() -> None:
    world = running()
    world.succeed("demo-worker-0")
    world.settle()
    world.lose("demo-worker-0")
    world.settle()
    assert world.pods == ["demo-ps-0", "demo-worker-1"]
    assert world.status.worker is not None
    assert (world.status.worker.succeeded, world.status.worker.completed) == (1, "0")
    assert world.why == "PodsRunning: 2 of 3 pods run, 1 have ended"
    world.succeed("demo-worker-1")
    assert world.settle().status.phase == "Completed"


def test_nobody_waits_for_a_worker_that_has_ended() -> None:
    world = running(paddle_job(worker=role(4)))
    assert world.sought("demo-worker-3") == ["demo-worker-{}.demo=4"]
    world.succeed("demo-worker-0", "demo-worker-2")
    world.settle()
    world.lose("demo-worker-3")
    world.settle()
    assert world.sought("demo-worker-3") == ["demo-worker-{}.demo@1,3"]


def test_a_pod_that_waits_for_one_that_has_ended_gives_way_to_one_that_does_not() -> None:
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    world.run("demo-worker-0")
    world.wait("demo-worker-1")
    first = world.pod("demo-worker-1")["metadata"]["uid"]
    world.succeed("demo-worker-0")
    world.settle()
    assert world.pod("demo-worker-1")["metadata"]["uid"] == first, "it may have seen the other, and be about to start"
    assert world.step().look_again == 10
    world.later(10)
    world.settle()
    assert world.pod("demo-worker-1")["metadata"]["uid"] != first
    assert world.sought("demo-worker-1") == ["demo-worker-{}.demo@1"]
    world.wait("demo-worker-1")
    second = world.pod("demo-worker-1")["metadata"]["uid"]
    world.later(3600)
    world.settle()
    assert (world.pod("demo-worker-1")["metadata"]["uid"], world.status.restarts) == (second, 0)


def test_servers_that_have_ended_are_neither_counted_nor_expected_to_listen() -> None:
    world = running(paddle_job(ps=role(3), worker=role(1)))
    world.succeed("demo-ps-1")
    world.settle()
    world.lose("demo-worker-0")
    world.settle()
    assert world.sought("demo-worker-0") == [
        "demo-ps-{}.demo@0,2",
        "demo-worker-{}.demo=1",
        "demo-ps-ready=2",
        "demo-ps-{}.demo:36000@0,2",
    ]


@pytest.mark.parametrize("intranet", ["", "PodIP", "Service", "Host"])
def test_others_are_not_disturbed_when_a_pod_that_ended_well_is_lost(intranet: str) -> None:
    world = running(intranet=intranet)
    world.settle()
    world.succeed("demo-worker-0")
    world.settle()
    there = [*world.names(Piece.SERVICE), *world.names(Piece.CONFIG_MAP)]
    world.lose("demo-worker-0")
    world.settle()
    assert [*world.names(Piece.SERVICE), *world.names(Piece.CONFIG_MAP)] == there


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(lambda world: world.fail("demo-worker-1"), id="the job starts anew"),
        pytest.param(lambda world: world.edit(worker=role(2, priority=1)), id="its template changes"),
    ],
)
def test_what_ended_well_before_runs_again_when_all_start_anew(turn: Callable[[PaddleWorld], None]) -> None:
    world = running(backoffLimit=1)
    world.succeed("demo-worker-0")
    world.settle()
    turn(world)
    world.settle()
    assert world.pods == PODS
    world.run()
    world.settle()
    assert world.status.worker is not None
    assert (world.status.worker.running, world.status.worker.completed) == (2, "")


def test_what_ended_well_runs_again_after_a_suspension() -> None:
    world = running()
    world.succeed("demo-worker-0")
    world.settle()
    world.edit(suspend=True)
    world.settle()
    world.edit(suspend=False)
    assert world.settle().pods == PODS


def test_a_pod_that_fails_while_it_is_being_deleted_is_no_failure() -> None:
    world = running()
    world.fail("demo-worker-0", 143)
    world.pod("demo-worker-0")["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    world.settle()
    assert world.status.phase == "Pending"
    assert world.why == "PodsPending: 1 of 3 pods do not run yet; demo-worker-0: it is being deleted"
    world.reap()
    world.settle()
    world.run("demo-worker-0")
    assert world.settle().status.phase == "Running"


def test_the_workers_success_ends_the_job_and_stops_the_parameter_servers() -> None:
    world = running(cleanPodPolicy="Never")
    world.succeed(*WORKERS)
    world.settle()
    assert world.status.phase == "Completed"
    assert world.pods == WORKERS
    assert world.told == ["Running", "Completed"]
    assert [(told.type, told.status, told.message) for told in world.status.conditions] == [
        ("Running", "False", "all workers have ended well"),
        ("Succeeded", "True", "all workers have ended well"),
    ]


def test_a_job_without_workers_ends_when_all_its_pods_have() -> None:
    world = running(paddle_job(ps=role(1), heter=role(1)), cleanPodPolicy="Never")
    world.succeed("demo-heter-0")
    assert world.settle().status.phase == "Running"
    world.succeed("demo-ps-0")
    assert world.settle().status.phase == "Completed"


def test_the_end_is_written_down_before_anything_is_deleted() -> None:
    world = running()
    world.succeed(*WORKERS)
    decision = world.step()
    assert (decision.status.phase, decision.delete) == ("Completed", ())


KEPT = {"Completed": WORKERS, "Failed": ["demo-worker-0"]}


@pytest.mark.parametrize(
    ("policy", "phase", "cleaned"),
    [
        pytest.param(policy, phase, cleaned, id=f"{policy or 'no policy'} when {phase}")
        for phase, policies in {
            "Completed": {
                "": True,
                "Always": True,
                "OnCompletion": True,
                "OnFailure": False,
                "OnFailed": False,
                "Never": False,
            },
            "Failed": {
                "": False,
                "Always": True,
                "OnCompletion": False,
                "OnFailure": True,
                "OnFailed": True,
                "Never": False,
            },
        }.items()
        for policy, cleaned in policies.items()
    ],
)
def test_pods_that_have_ended_go_or_stay_as_the_policy_says_and_no_pod_runs_on(
    policy: str, phase: str, *, cleaned: bool
) -> None:
    world = running(cleanPodPolicy=policy)
    if phase == "Completed":
        world.succeed(*WORKERS)
    else:
        world.fail("demo-worker-0")
    world.settle()
    assert world.status.phase == phase
    assert world.pods == ([] if cleaned else KEPT[phase])
    left = [*world.names(Piece.SERVICE), *world.names(Piece.CONFIG_MAP)]
    assert left == ([] if cleaned else ["demo", "demo-ps-ready", "demo"])


def test_all_pods_are_deleted_in_one_pass() -> None:
    world = running(cleanPodPolicy="Always")
    world.fail("demo-worker-1")
    world.step()
    world.step()
    assert world.pods == []


def test_an_ended_job_makes_no_pods_again() -> None:
    world = running(cleanPodPolicy="Never")
    world.succeed(*WORKERS)
    world.settle()
    world.lose("demo-worker-0")
    world.edit(worker=role(3))
    assert world.settle().pods == ["demo-worker-1"]
    assert world.status.phase == "Completed"


def test_an_ended_job_remembers_how_many_pods_ended_when_they_are_gone() -> None:
    world = running()
    world.succeed(*WORKERS)
    world.settle()
    assert (world.pods, world.status.worker, world.status.ps) == ([], RoleStatus(succeeded=2, completed="0-1"), None)


def test_the_old_word_on_failed_is_warned_about_once() -> None:
    world = running(cleanPodPolicy="OnFailed")
    assert world.told == ["OldWord!", "Running"]


def test_a_failed_pod_ends_a_job_without_a_backoff_limit_and_the_reason_is_told() -> None:
    world = running()
    world.fail("demo-worker-1", 137, "OOMKilled")
    world.settle()
    failed = world.status.conditions[1]
    assert (world.status.phase, world.status.completion_time) == ("Failed", world.now)
    assert world.status.restarts == 0
    assert (failed.type, failed.status, failed.reason) == ("Failed", "True", "PodFailed")
    assert failed.message == "demo-worker-1 failed: container train ended with 137 (OOMKilled)"


def test_a_failed_pod_within_the_backoff_limit_restarts_all_pods_together() -> None:
    world = running(backoffLimit=1)
    before = {name: world.pod(name)["metadata"]["uid"] for name in world.pods}
    world.fail("demo-worker-0")
    world.settle()
    assert world.pods == PODS
    assert all(world.pod(name)["metadata"]["uid"] != uid for name, uid in before.items())
    assert (world.status.phase, world.status.restarts) == ("Pending", 1)


def test_a_restart_is_counted_before_anything_is_deleted() -> None:
    world = running(backoffLimit=1)
    world.fail("demo-worker-0")
    decision = world.step()
    assert (decision.status.phase, decision.status.restarts, decision.delete) == ("Restarting", 1, ())


def test_old_and_new_pods_never_meet() -> None:
    world = running(backoffLimit=1)
    world.graceful = True
    world.fail("demo-worker-0")
    world.settle()
    assert all("deletionTimestamp" in world.pod(name)["metadata"] for name in world.pods)
    assert world.why == (
        "Restarting: demo-worker-0 failed: container train ended with 1 (Error); all pods start anew, attempt 1 of 1"
    )
    world.reap()
    world.settle()
    assert world.pods == PODS
    assert {world.pod(name)["metadata"]["annotations"]["batch.paddlepaddle.org/attempt"] for name in PODS} == {"1"}


def test_a_job_that_failed_as_often_as_the_limit_allows_has_failed() -> None:
    world = running(backoffLimit=1)
    world.fail("demo-worker-0")
    world.settle()
    world.run()
    world.settle()
    world.fail("demo-ps-0", 2)
    world.settle()
    assert world.status.phase == "Failed"
    assert world.status.conditions[1].reason == "BackoffLimitExceeded"
    assert "it was started anew 1 times, as often as backoffLimit allows" in world.status.conditions[1].message
    assert world.told == ["Running", "Restarting!", "Running", "Failed!"]


def test_each_restart_waits_longer_than_the_one_before() -> None:
    world = running(backoffLimit=9)
    waits: list[float] = []
    for _ in range(8):
        world.fail("demo-worker-0")
        restarts = len(waits)
        decision = world.step()
        waits.append(decision.look_again or 0)
        assert decision.status.restarts == (restarts if waits[-1] else restarts + 1)
        world.later(waits[-1])
        world.settle()
        world.run()
        world.settle()
    assert waits == [0, 10, 20, 40, 80, 160, 320, 360]
    assert world.status.restarts == 8


def test_the_number_of_restarts_survives_the_loss_of_the_status() -> None:
    world = running(backoffLimit=2)
    world.fail("demo-worker-0")
    world.settle()
    world.run()
    del world.job["status"]
    assert world.settle().status.restarts == 1


def test_a_job_past_its_deadline_has_failed_and_its_pods_are_stopped() -> None:
    world = running(activeDeadlineSeconds=60)
    assert world.step().look_again == 60
    world.later(60)
    world.settle()
    assert (world.status.phase, world.pods) == ("Failed", [])
    assert world.why == "DeadlineExceeded: it was not done 60 seconds after its start, as activeDeadlineSeconds asks"


def test_the_deadline_holds_while_a_restarted_job_waits_for_its_queue() -> None:
    settings = Settings(init_image=IMAGE, scheduling=Scheduling.VOLCANO)
    world = PaddleWorld(paddle_job(worker=role(1), activeDeadlineSeconds=60, backoffLimit=1), settings).settle()
    (group,) = world.all(Piece.POD_GROUP)
    group["status"] = {"phase": "Inqueue"}
    world.settle()
    world.run()
    world.settle()
    group = world.all(Piece.POD_GROUP)[0]
    group["status"] = {"phase": "Pending"}
    world.fail("demo-worker-0")
    world.settle()
    assert (world.pods, world.step().look_again) == ([], 60)
    world.later(60)
    assert world.settle().status.phase == "Failed"


def test_an_ended_job_is_deleted_when_its_time_is_over() -> None:
    world = running(ttlSecondsAfterFinished=30)
    world.succeed(*WORKERS)
    world.settle()
    assert (world.step().look_again, world.expired) == (30, False)
    world.later(30)
    world.step()
    assert world.expired


def test_a_time_that_no_calendar_holds_is_one_that_never_comes() -> None:
    world = running(activeDeadlineSeconds=10**12, ttlSecondsAfterFinished=10**12)
    world.succeed(*WORKERS)
    assert (world.settle().status.phase, world.expired) == ("Completed", False)


def test_a_suspended_job_has_no_pods_and_starts_anew_when_it_goes_on() -> None:
    world = running(activeDeadlineSeconds=60)
    world.edit(suspend=True)
    world.settle()
    assert (world.status.phase, world.status.start_time, world.pods) == ("Suspended", None, [])
    world.later(3600)
    world.edit(suspend=False)
    world.settle()
    world.run()
    world.settle()
    assert (world.status.phase, world.status.start_time, world.pods) == ("Running", world.now, PODS)
    assert world.told == ["Running", "Suspended", "Running"]


def test_a_job_that_is_suspended_from_the_start_makes_nothing() -> None:
    world = PaddleWorld(paddle_job(worker=role(2), suspend=True)).settle()
    assert (world.objects, world.status.phase) == ({}, "Suspended")


@pytest.mark.parametrize(
    ("edit", "pods"),
    [
        pytest.param({"worker": role(3)}, [*PODS, "demo-worker-2"], id="more workers"),
        pytest.param({"worker": role(1)}, PODS[:2], id="fewer workers"),
        pytest.param({"worker": role(2, priority=5)}, PODS, id="another template"),
        pytest.param({"withGloo": 1}, PODS, id="gloo"),
    ],
)
def test_an_edit_of_a_live_job_restarts_it_as_a_whole(edit: dict[str, object], pods: list[str]) -> None:
    world = running()
    before = {found["metadata"]["uid"] for found in world.all(Piece.POD)}
    world.edit(**edit)
    world.step()
    assert (world.pods, world.why) == ([], "Restarting: the spec has changed: all pods start anew")
    world.settle()
    assert world.pods == pods
    assert not before & {found["metadata"]["uid"] for found in world.all(Piece.POD)}
    assert world.status.restarts == 0


@pytest.mark.parametrize("edit", [{"backoffLimit": 5}, {"ttlSecondsAfterFinished": 5}, {"cleanPodPolicy": "Never"}])
def test_an_edit_that_pods_know_nothing_of_leaves_them_alone(edit: dict[str, object]) -> None:
    world = running()
    writes = len(world.writes)
    world.edit(**edit)
    assert world.settle().writes[writes:] == ["write status"]


def test_another_manager_with_another_image_leaves_running_jobs_alone() -> None:
    world = running()
    world.settings = type(world.settings)(init_image="registry.example.com/paddle-operator:2")
    writes = list(world.writes)
    assert world.settle().writes == writes


def test_pods_that_the_original_operator_made_are_left_alone() -> None:
    world = running()
    for name in PODS:
        metadata = world.pod(name)["metadata"]
        metadata["annotations"] = {"paddle-resource": metadata["labels"].pop("paddle-res-type")}
    writes = list(world.writes)
    assert world.settle().writes == writes


def test_a_deleted_job_is_let_go_and_makes_nothing() -> None:
    world = running()
    world.job["metadata"] |= {
        "deletionTimestamp": "2026-01-01T12:00:00Z",
        "finalizers": ["finalizers.paddlepaddle.org", "foregroundDeletion"],
    }
    world.lose("demo-worker-0")
    world.settle()
    assert world.job["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (world.status.phase, world.pods) == ("Terminating", ["demo-ps-0", "demo-worker-1"])
