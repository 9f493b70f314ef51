"""Jobs that cannot work get a sentence, not a crash, and no pods."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.snapshot import Settings
from support.manifests import changed
from support.paddleworld import PaddleWorld, paddle_job, role

CONTAINER = "spec.worker.template.spec.containers.0"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"spec": {}}, "the job has no role: give ps, worker or heter", id="no role"),
        pytest.param(
            {"spec.worker.replicas": 0}, "worker.replicas is 0: ask for at least 1, or leave out worker", id="no pods"
        ),
        pytest.param(
            {"spec.worker.replicas": -3}, "worker.replicas is -3: ask for at least 1, or leave out worker", id="fewer"
        ),
        pytest.param(
            {"spec.worker.replicas": 10**18}, f"worker.replicas is {10**18}: ask for at most 10000", id="far too many"
        ),
        pytest.param(
            {"spec.worker.template": {}},
            "worker.template is no pod template: Object missing required field `spec`",
            id="an empty template",
        ),
        pytest.param(
            {"spec.worker.template.spec": {"containers": []}},
            "worker.template has no containers: give at least the one that trains",
            id="no containers",
        ),
        pytest.param(
            {f"{CONTAINER}.env": 5},
            "worker.template is no pod template: Expected `array | null`, got `int` - at `$.spec.containers[0].env`",
            id="an environment that is a number",
        ),
        pytest.param(
            {"spec.worker.template.metadata": {"labels": ["a"]}},
            "worker.template is no pod template: Expected `object | null`, got `array` - at `$.metadata.labels`",
            id="labels that are a list",
        ),
        pytest.param(
            {"spec.worker.template.spec.affinity": {"nodeAffinity": "here"}},
            "worker.template is no pod template: Expected `object | null`, got `str` - at"
            " `$.spec.affinity.nodeAffinity`",
            id="an affinity in words",
        ),
        pytest.param(
            {"metadata.name": "d" * 52},
            "the job's name has more than 51 characters: its pods' names would be too long",
            id="a name that is too long",
        ),
        pytest.param(
            {"spec": {"elastic": 1, "ps": role(1)}}, "an elastic job needs workers: give worker too", id="no workers"
        ),
        pytest.param(
            {"spec.elastic": 1},
            "an elastic job needs etcd: start the manager with --etcd-server=HOST:2379, or set PADDLE_ELASTIC_SERVER in"
            " worker",
            id="elastic without etcd",
        ),
        pytest.param(
            {"spec.elastic": 1, "spec.worker": {**role(3), "requests": 1, "limits": 2}},
            "worker.replicas is 3, and an elastic job has at most limits, 2: change one of the two",
            id="more workers than the most",
        ),
        pytest.param(
            {"spec.elastic": 1, "spec.worker": {**role(1), "requests": 2, "limits": 4}},
            "worker.replicas is 1, and an elastic job has at least requests, 2: change one of the two",
            id="fewer workers than the fewest",
        ),
        pytest.param(
            {"spec.sampleSetRef": {"name": "imagenet", "mountPath": "/mnt", "namespace": "other"}},
            "sampleSetRef.namespace is other and the job is in team: pods can only mount the claim of a SampleSet in"
            " their own namespace",
            id="data of another namespace",
        ),
        pytest.param(
            {"spec.worker.replicas": 9000},
            "PADDLE_TRAINER_ENDPOINTS would have 250889 characters for 9000 pods, and a program can be given 130816:"
            " ask for fewer pods, or give the job a shorter name",
            id="more addresses than fit",
        ),
    ],
)
def test_what_cannot_work_is_told_in_a_sentence(changes: Manifest, words: str) -> None:
    world = PaddleWorld(changed(paddle_job(worker=role(1)), changes))
    decision = world.step()
    assert decision.refusal is not None
    assert decision.refusal.message == words
    assert (world.objects, world.status.phase, world.status.conditions[0].message) == ({}, "Pending", words)


def test_a_running_job_that_could_not_be_made_today_runs_on_and_ends() -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker=role(1)), Settings(etcd_server="etcd:2379")).settle()
    world.run()
    world.settle()
    world.settings = Settings()
    assert world.step().refusal is not None
    assert (world.status.phase, world.pods) == ("Running", ["demo-worker-0"])
    world.succeed("demo-worker-0")
    assert world.settle().status.phase == "Completed"


def test_a_job_that_was_put_right_goes_on() -> None:
    world = PaddleWorld(paddle_job(worker=role(0))).settle()
    world.edit(worker=role(1))
    assert world.settle().pods == ["demo-worker-0"]
