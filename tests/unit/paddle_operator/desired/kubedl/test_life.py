"""How TFJobs and PyTorchJobs end, fail, restart and are cleaned up."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.decision import Piece
from support.trainingworld import TrainingWorld, replicas, tf_job, torch_job


def running(job: Manifest) -> TrainingWorld:
    world = TrainingWorld(job).settle()
    for _ in range(3):
        world.run()
    return world


CHIEF = {"Chief": replicas(1), "Worker": replicas(2)}
ENDS = {
    "the first worker, where workers decide": (tf_job(), ["demo-worker-0"], "Succeeded"),
    "another worker alone": (tf_job(), ["demo-worker-1"], "Running"),
    "the first of all workers": (tf_job(successPolicy="AllWorkers"), ["demo-worker-0"], "Running"),
    "all workers": (tf_job(successPolicy="AllWorkers"), ["demo-worker-0", "demo-worker-1"], "Succeeded"),
    "the chief": (tf_job(CHIEF), ["demo-chief-0"], "Succeeded"),
    "the chief, and workers are to": (tf_job(CHIEF, successPolicy="AllWorkers"), ["demo-chief-0"], "Running"),
    "the workers, and the chief decides": (tf_job(CHIEF), ["demo-worker-0", "demo-worker-1"], "Running"),
    "the master": (torch_job(), ["demo-master-0"], "Succeeded"),
    "a worker, and the master decides": (torch_job(), ["demo-worker-0"], "Running"),
    "one of PyTorch workers alone": (torch_job({"Worker": replicas(2, "pytorch")}), ["demo-worker-0"], "Running"),
}


@pytest.mark.parametrize(("job", "ended", "state"), ENDS.values(), ids=ENDS.keys())
def test_who_decides_that_a_job_has_succeeded(job: Manifest, ended: list[str], state: str) -> None:
    world = running(job).end(*ended)
    assert world.state == state
    if state == "Succeeded":
        kind = job["kind"]
        assert world.why() == f"JobSucceeded: {kind} demo successfully completed."
        assert world.status.completion_time is not None
        assert "JobSucceeded" in world.told


FAILURES = {
    "a code of the program": ("ExitCode", 1, "", False),
    "killed from outside": ("ExitCode", 137, "", True),
    "terminated": ("ExitCode", 143, "", True),
    "interrupted": ("ExitCode", 130, "", True),
    "a segmentation fault": ("ExitCode", 139, "", False),
    "evicted": ("ExitCode", 1, "Evicted", True),
    "evicted where containers restart": ("OnFailure", 1, "Evicted", True),
    "ended by the shutdown of its node": ("OnFailure", 1, "Terminated", True),
    "not let in by a node that shuts down": ("OnFailure", 1, "NodeShutdown", True),
    "not let in by a node without enough memory": ("OnFailure", 1, "OutOfmemory", True),
    "not let in by a node without enough devices": ("ExitCode", 1, "OutOfnvidia.com/gpu", True),
    "not let in by a node that lost its labels": ("OnFailure", 1, "NodeAffinity", True),
    "not let in for reasons of its own": ("OnFailure", 1, "UnexpectedAdmissionError", True),
    "not let in, and never to restart": ("Never", 1, "OutOfcpu", False),
    "killed, and never to restart": ("Never", 137, "", False),
    "evicted, and never to restart": ("Never", 1, "Evicted", False),
}


@pytest.mark.parametrize(("policy", "code", "reason", "anew"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_pod_is_made_anew_where_that_may_help(policy: str, code: int, reason: str, *, anew: bool) -> None:
    world = running(tf_job({"PS": replicas(1), "Worker": replicas(2, restartPolicy=policy)}))
    before = world.pod("demo-worker-1")["metadata"]["uid"]
    world.end("demo-worker-1", code=code, reason=reason)
    if anew:
        assert world.pod("demo-worker-1")["metadata"]["uid"] != before
        assert (world.status.restarts, world.status.restarting) == (1, ())
        assert world.run().state == "Running"
    else:
        assert world.state == "Failed"
        assert "demo-worker-1 failed" in world.why()
        assert world.status.replica_statuses["Worker"].failed == 1


def test_each_failed_pod_is_counted_once_and_the_limit_ends_the_job() -> None:
    world = running(tf_job({"Worker": replicas(2)}, backoffLimit=2))
    world.end("demo-worker-0", code=137)
    world.run().end("demo-worker-1", code=137)
    assert (world.status.restarts, len(world.pods)) == (2, 2)
    world.run().end("demo-worker-0", code=137)
    assert world.state == "Failed"
    assert "pods failed 3 times, and backoffLimit is 2" in world.why()


def test_pods_that_go_on_failing_are_made_anew_later_and_later() -> None:
    world = running(tf_job({"Worker": replicas(1)}))
    for _ in range(2):
        world.end("demo-worker-0", code=137).run()
    world.end("demo-worker-0", code=137)
    assert (world.state, world.status.restarts) == ("Restarting", 3)
    assert world.pod("demo-worker-0")["status"]["phase"] == "Failed"
    world.later(11).settle()
    assert "status" not in world.pod("demo-worker-0")
    assert world.state == "Restarting"


def test_a_pod_that_no_node_let_in_is_made_anew_later_too() -> None:
    """It has no containers, and so nobody tells when it ended."""
    world = running(tf_job({"Worker": replicas(1)}))
    for _ in range(2):
        world.end("demo-worker-0", code=137).run()
    pod = world.pod("demo-worker-0")
    pod["metadata"]["creationTimestamp"] = world.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    pod["status"] = {"phase": "Failed", "reason": "OutOfcpu"}
    assert world.settle().pod("demo-worker-0")["status"]["reason"] == "OutOfcpu"
    assert "status" not in world.later(11).settle().pod("demo-worker-0")


def test_containers_that_restart_count_against_the_limit() -> None:
    world = running(tf_job({"Worker": replicas(1, restartPolicy="OnFailure")}, backoffLimit=3))
    assert world.run(restarts=2).state == "Running"
    assert world.run(restarts=3).state == "Failed"


def test_pods_and_containers_count_apart_against_the_limit() -> None:
    types = {"Worker": replicas(1, restartPolicy="OnFailure"), "Chief": replicas(1)}
    world = running(tf_job(types, backoffLimit=2))
    for _ in range(2):
        world.run("demo-worker-0", restarts=1).run("demo-chief-0").end("demo-chief-0", code=137)
    assert (world.status.restarts, world.run("demo-chief-0").state) == (2, "Running")
    assert world.run("demo-worker-0", restarts=2).state == "Failed"


def test_what_failed_is_recorded_before_anything_is_deleted() -> None:
    world = running(tf_job({"Worker": replicas(2)}))
    before = len(world.writes)
    world.end("demo-worker-1", code=137)
    assert world.writes[before : before + 2] == ["status", "delete Pod demo-worker-1"]


CLEANED = {
    "by default those that run": (tf_job(), ["demo-worker-0"]),
    "all": (tf_job(cleanPodPolicy="All"), []),
    "none": (tf_job(cleanPodPolicy="None"), ["demo-ps-0", "demo-worker-0", "demo-worker-1"]),
    "none of PyTorch's by default": (torch_job(), ["demo-master-0", "demo-worker-0", "demo-worker-1"]),
}


@pytest.mark.parametrize(("job", "left"), CLEANED.values(), ids=CLEANED.keys())
def test_pods_of_an_ended_job_go_as_the_policy_says(job: Manifest, left: list[str]) -> None:
    ended = "demo-master-0" if job["kind"] == "PyTorchJob" else "demo-worker-0"
    world = running(job).end(ended)
    assert world.pods == left
    services = world.names(Piece.SERVICE)
    assert [name for name in services if job["kind"] == "TFJob" and name not in left] == []


def test_an_ended_job_starts_nothing_again_and_goes_when_its_time_is_over() -> None:
    world = running(tf_job(ttlSecondsAfterFinished=60)).end("demo-worker-0")
    world.lose("demo-worker-0")
    world.settle()
    assert (world.pods, world.expired) == ([], False)
    assert world.status.replica_statuses["Worker"].succeeded == 1
    world.later(60).step()
    assert world.expired


def test_who_has_ended_well_is_not_run_again() -> None:
    world = running(tf_job(successPolicy="AllWorkers")).end("demo-worker-0")
    world.lose("demo-worker-0")
    world.settle()
    assert world.pods == ["demo-ps-0", "demo-worker-1"]
    assert world.end("demo-worker-1").state == "Succeeded"


def test_a_deadline_counts_from_the_first_look_also_while_a_job_waits() -> None:
    """The original let a job wait for its cache for ever, whatever its deadline."""
    cache = {"name": "mnist", "mountPath": "/data"}
    world = TrainingWorld(tf_job(activeDeadlineSeconds=60, cacheBackend=cache)).settle()
    assert world.step().look_again == 60
    world.later(60).settle()
    assert world.state == "Failed"
    assert "60 seconds after its start" in world.why()


def test_a_time_that_no_calendar_holds_is_one_that_never_comes() -> None:
    world = running(tf_job(activeDeadlineSeconds=10**12, ttlSecondsAfterFinished=10**12))
    assert world.state == "Running"
    assert world.end("demo-worker-0").later(10**6).settle().state == "Succeeded"
    assert not world.expired


def test_another_template_starts_all_pods_anew() -> None:
    world = running(tf_job())
    world.edit(tfReplicaSpecs={"PS": replicas(1), "Worker": replicas(1)})
    world.step()
    assert (world.pods, world.state) == ([], "Restarting")
    world.settle().run("demo-ps-0")
    assert world.pods == ["demo-ps-0", "demo-worker-0"]


def test_a_lost_pod_comes_back_and_a_second_pass_writes_nothing() -> None:
    world = running(tf_job())
    world.lose("demo-worker-1")
    world.settle()
    assert "demo-worker-1" in world.pods
    before = len(world.writes)
    world.step()
    assert world.writes[before:] == []


def test_what_is_not_supported_is_warned_about_once() -> None:
    unknown = {
        "cronPolicy": {"schedule": "@daily"},
        "modelVersion": {"modelName": "m"},
        "schedulingPolicy": {"priority": 5},
    }
    world = TrainingWorld(tf_job(**unknown)).settle()
    assert world.told.count("NoEffect!") == 3
    assert "NoEffect!" not in TrainingWorld(tf_job(schedulingPolicy={"queue": "a"})).settle().told


REFUSED = {
    "no pods": (tf_job({"Worker": replicas(0)}), "has no pods"),
    "no containers": (tf_job({"Worker": {"template": {"spec": {"containers": []}}}}), "has no containers"),
    "no template": (tf_job({"Worker": {"template": {"spec": 3}}}), "is no pod template"),
    "more than there are": (tf_job(schedulingPolicy={"minAvailable": 9}), "more than the job has pods"),
    "a cache mounted nowhere": (tf_job(cacheBackend={"name": "a"}), "needs mountPath"),
    "no cache at all": (tf_job(cacheBackend={"mountPath": "/data"}), "needs the name of a CacheBackend"),
    "data of another namespace": (
        tf_job(sampleSetRef={"name": "a", "mountPath": "/a", "namespace": "other"}),
        "pods can only mount",
    ),
}


@pytest.mark.parametrize(("job", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_training_job_that_cannot_work_is_told_so_in_a_sentence(job: Manifest, words: str) -> None:
    world = TrainingWorld(job)
    decision = world.step()
    assert decision.refusal is not None
    assert words in decision.refusal.message
    assert world.pods == []
