"""The pods and services of TFJobs and PyTorchJobs, and what each is told."""

import json

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.decision import Piece
from paddle_operator.desired.training.settings import Scheduling
from support.trainingworld import TrainingWorld, replicas, tf_job, torch_job


def started(job: Manifest) -> TrainingWorld:
    """Run each pod as soon as it is there."""
    world = TrainingWorld(job).settle()
    for _ in range(3):
        world.run()
    return world


def test_a_tf_pod_has_the_names_and_labels_that_people_select_by() -> None:
    world = started(tf_job({"ps": replicas(1), "CHIEF": replicas(), "Worker": replicas(2), "Evaluator": replicas()}))
    assert world.pods == ["demo-chief-0", "demo-evaluator-0", "demo-ps-0", "demo-worker-0", "demo-worker-1"]
    metadata = world.pod("demo-chief-0")["metadata"]
    assert metadata["labels"] == {
        "group-name": "training.kubedl.io",
        "job-name": "demo",
        "replica-type": "chief",
        "replica-index": "0",
        "job-role": "master",
    }
    assert metadata["ownerReferences"][0]["kind"] == "TFJob"
    assert world.pod("demo-worker-1")["spec"]["restartPolicy"] == "Never"
    assert world.names(Piece.SERVICE) == world.pods
    service = world.all(Piece.SERVICE)[3]
    assert service["spec"]["ports"] == [{"name": "tfjob-port", "port": 2222, "targetPort": 2222}]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"].items() <= world.pod("demo-worker-0")["metadata"]["labels"].items()


def test_tf_config_names_everybody_but_the_evaluator_and_says_who_one_is() -> None:
    world = started(tf_job({"PS": replicas(1), "Worker": replicas(2), "Evaluator": replicas(1)}))
    found = json.loads(world.env("demo-worker-1")["TF_CONFIG"])
    assert found == {
        "cluster": {
            "ps": ["demo-ps-0.default.svc:2222"],
            "worker": ["demo-worker-0.default.svc:2222", "demo-worker-1.default.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    evaluator = json.loads(world.env("demo-evaluator-0")["TF_CONFIG"])
    assert (evaluator["task"], evaluator["cluster"]) == ({"type": "evaluator", "index": 0}, found["cluster"])


def test_a_tf_job_of_one_pod_trains_alone() -> None:
    world = TrainingWorld(tf_job({"Worker": replicas()})).settle()
    assert (world.pods, world.env("demo-worker-0")) == (["demo-worker-0"], {})


def test_a_port_of_the_users_own_is_told_and_listed_once() -> None:
    worker = replicas(2)
    worker["template"]["spec"]["containers"][0]["ports"] = [{"name": "tfjob-port", "containerPort": 3333}]
    world = TrainingWorld(tf_job({"Worker": worker})).settle()
    assert json.loads(world.env("demo-worker-0")["TF_CONFIG"])["cluster"]["worker"][1].endswith(":3333")
    assert len(world.pod("demo-worker-0")["spec"]["containers"][0]["ports"]) == 1


def test_the_container_that_trains_is_known_by_name_or_is_the_first() -> None:
    """The original found no port, and so made no services, where no container was named tensorflow."""
    named = replicas(2)
    named["template"]["spec"]["containers"].insert(0, {"name": "side", "image": "side:v1"})
    world = TrainingWorld(tf_job({"Worker": named})).settle()
    assert (world.env("demo-worker-0", 0), list(world.env("demo-worker-0", 1))) == ({}, ["TF_CONFIG"])
    other = TrainingWorld(tf_job({"Worker": replicas(2, "main")})).settle()
    assert list(other.env("demo-worker-0")) == ["TF_CONFIG"]
    assert other.names(Piece.SERVICE) == other.pods


def test_a_variable_of_the_users_wins() -> None:
    worker = replicas(2)
    worker["template"]["spec"]["containers"][0]["env"] = [{"name": "TF_CONFIG", "value": "mine"}]
    assert TrainingWorld(tf_job({"Worker": worker})).settle().env("demo-worker-0") == {"TF_CONFIG": "mine"}


def test_pytorch_processes_know_the_master_their_rank_and_how_many_they_are() -> None:
    world = started(torch_job())
    assert world.names(Piece.SERVICE) == ["demo-master-0"]
    expected = {"MASTER_PORT": "23456", "WORLD_SIZE": "3", "PYTHONUNBUFFERED": "0"}
    assert world.env("demo-master-0") == {**expected, "MASTER_ADDR": "localhost", "RANK": "0"}
    assert world.env("demo-worker-0") == {**expected, "MASTER_ADDR": "demo-master-0", "RANK": "1"}
    assert world.env("demo-worker-1")["RANK"] == "2"
    policies = [world.pod(name)["spec"]["restartPolicy"] for name in ("demo-master-0", "demo-worker-0")]
    assert policies == ["Never", "OnFailure"]


def test_every_container_of_a_pytorch_pod_is_told_the_same() -> None:
    worker = replicas(1, "pytorch")
    worker["template"]["spec"]["containers"].insert(0, {"name": "side", "image": "side:v1"})
    world = started(torch_job({"Master": replicas(1, "pytorch"), "Worker": worker}))
    side, main = (world.env("demo-worker-0", number) for number in range(2))
    assert side == main
    assert list(main) == ["MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED"]


def test_pytorch_workers_without_a_master_meet_at_the_first() -> None:
    world = started(torch_job({"Worker": replicas(2, "pytorch")}))
    assert [world.env(name)["RANK"] for name in world.pods] == ["0", "1"]
    assert world.env("demo-worker-1")["MASTER_ADDR"] == "demo-worker-0"
    assert world.names(Piece.SERVICE) == ["demo-worker-0"]


def test_pytorch_workers_do_not_meet_at_an_ai_master() -> None:
    world = started(torch_job({"AIMaster": replicas(1, "pytorch"), "Worker": replicas(2, "pytorch")}))
    assert world.pods == ["demo-aimaster-0", "demo-worker-0", "demo-worker-1"]
    assert world.names(Piece.SERVICE) == ["demo-worker-0"]
    told = [world.env(name) for name in ("demo-worker-0", "demo-worker-1")]
    assert [env["MASTER_ADDR"] for env in told] == ["localhost", "demo-worker-0"]
    assert [(env["RANK"], env["WORLD_SIZE"]) for env in told] == [("0", "2"), ("1", "2")]


def test_an_ai_master_does_not_count_as_one_that_trains() -> None:
    alone = started(tf_job({"AIMaster": replicas(1), "Worker": replicas(1)}))
    assert [alone.env(name) for name in alone.pods] == [{}, {}]
    several = started(tf_job({"AIMaster": replicas(1), "Worker": replicas(2)}))
    assert list(json.loads(several.env("demo-worker-1")["TF_CONFIG"])["cluster"]) == ["worker"]


def test_workers_start_when_those_that_they_need_run() -> None:
    world = TrainingWorld(tf_job()).settle()
    assert world.pods == ["demo-ps-0"]
    assert world.run("demo-ps-0").pods == ["demo-ps-0", "demo-worker-0", "demo-worker-1"]
    torch = TrainingWorld(torch_job()).settle()
    assert torch.pods == ["demo-master-0"]
    assert len(torch.run().pods) == 3


def test_spot_replicas_are_those_with_the_highest_numbers() -> None:
    spot = {"spotReplicaNumber": 1, "priorityClassName": "low", "labels": {"spot": "true"}}
    world = TrainingWorld(tf_job({"Worker": replicas(2, spotReplicaSpec=spot)})).settle()
    found = [world.pod(name) for name in world.pods]
    assert [pod["spec"].get("priorityClassName") for pod in found] == [None, "low"]
    assert ["spot" in pod["metadata"]["labels"] for pod in found] == [False, True]


@pytest.mark.parametrize(
    ("scheduling", "piece"), [(Scheduling.VOLCANO, Piece.POD_GROUP), (Scheduling.NATIVE, Piece.WORKLOAD)]
)
def test_a_gang_starts_together_and_goes_with_the_end(scheduling: Scheduling, piece: Piece) -> None:
    policy = {"minAvailable": 2, "queue": "research", "priorityClassName": "high"}
    world = TrainingWorld(tf_job(schedulingPolicy=policy), scheduling).settle()
    (group,) = world.all(piece)
    if scheduling is Scheduling.VOLCANO:
        assert group["spec"] == {"minMember": 2, "queue": "research", "priorityClassName": "high"}
        assert (world.pods, world.state) == ([], "Queuing")
        group["status"] = {"phase": "Inqueue"}
        world.settle()
    assert len(world.pods) == 3
    world.run().end("demo-worker-0", "demo-worker-1")
    assert (world.state, world.all(piece)) == ("Succeeded", [])


def test_no_new_pod_meets_a_workload_of_another_size() -> None:
    world = TrainingWorld(tf_job({"Worker": replicas(2)}), Scheduling.NATIVE).settle()
    world.edit(tfReplicaSpecs={"Worker": replicas(3)})
    writes = len(world.writes)
    world.settle()
    anew = [write for write in world.writes[writes:] if "Pod demo-worker-0" in write or "Workload" in write]
    assert anew == [
        "delete Pod demo-worker-0", "delete Workload demo", "create Workload demo", "create Pod demo-worker-0",
    ]  # fmt: skip


def test_where_nobody_schedules_gangs_a_training_job_says_so() -> None:
    world = TrainingWorld(tf_job(), Scheduling.VOLCANO)
    world.gangs_served = False
    world.settle()
    assert world.pods == []
    assert "install Volcano" in world.why()
