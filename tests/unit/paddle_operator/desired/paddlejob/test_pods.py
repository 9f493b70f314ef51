"""A pod, whole: the user's template with what makes it part of the job."""

import copy

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.decision import Piece
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role

TEMPLATE: Manifest = {
    "metadata": {
        "name": "ignored",
        "namespace": "ignored",
        "labels": {"app": "resnet", "paddle-res-type": "mine"},
        "annotations": {"sidecar.istio.io/inject": "false"},
    },
    "spec": {
        "serviceAccountName": "trainer",
        "initContainers": [{"name": "fetch", "image": "fetch:v1"}],
        "containers": [
            {
                "name": "train",
                "image": "resnet:v1",
                "command": ["python"],
                "args": ["-m", "paddle.distributed.launch", "train.py"],
                "envFrom": [{"secretRef": {"name": "keys"}}],
                "resources": {"limits": {"nvidia.com/gpu": 1}},
                "someFieldOfTheFuture": {"kept": True},
            },
            {"name": "board", "image": "board:v1"},
        ],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    },
}

WAITING = {
    "name": "coord-paddle",
    "image": IMAGE,
    "imagePullPolicy": "IfNotPresent",
    "command": ["python3", "-m", "paddle_operator.cli.waitfor"],
    "args": ["--timeout=86400", "--own=demo-worker-1.demo", "demo-worker-{}.demo=2"],
    "env": [{"name": "POD_IPS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIPs"}}}],
    "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}},
    "securityContext": {
        "runAsUser": 65532,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}


def made(pod: str, **spec: object) -> Manifest:
    world = PaddleWorld(paddle_job("demo", **spec))
    world.full = True
    return world.settle().pod(pod)


def test_a_pod_is_the_template_and_what_makes_it_part_of_the_job() -> None:
    pod = made("demo-worker-1", worker={"replicas": 2, "template": TEMPLATE})
    revision = pod["metadata"]["annotations"].pop("paddlepaddle.org/template-hash")
    assert len(revision) == 16
    assert pod == {
        "metadata": {
            "name": "demo-worker-1",
            "namespace": "team",
            "uid": "Pod-2",
            "labels": {
                "app": "resnet",
                "batch.paddlepaddle.org/job": "demo",
                "paddle-res-name": "demo-worker-1",
                "paddle-res-type": "worker",
            },
            "annotations": {
                "sidecar.istio.io/inject": "false",
                "paddle-resource": "worker",
                "batch.paddlepaddle.org/attempt": "0",
            },
            "ownerReferences": [
                {
                    "apiVersion": "batch.paddlepaddle.org/v1",
                    "kind": "PaddleJob",
                    "name": "demo",
                    "uid": "uid-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            **TEMPLATE["spec"],
            "restartPolicy": "Never",
            "hostname": "demo-worker-1",
            "subdomain": "demo",
            "initContainers": [{"name": "fetch", "image": "fetch:v1"}, WAITING],
            "containers": [
                {
                    **TEMPLATE["spec"]["containers"][0],
                    "env": [
                        {"name": "POD_IP", "value": "demo-worker-1.demo"},
                        {"name": "PADDLE_TRAINER_ID", "value": "1"},
                        {"name": "TRAINING_ROLE", "value": "TRAINER"},
                        {"name": "PADDLE_TRAINING_ROLE", "value": "TRAINER"},
                        {"name": "PADDLE_CURRENT_ENDPOINT", "value": "demo-worker-1.demo:36000"},
                    ],
                    "envFrom": [{"configMapRef": {"name": "demo"}}, {"secretRef": {"name": "keys"}}],
                },
                {"name": "board", "image": "board:v1"},
            ],
        },
    }


def test_the_users_template_is_not_changed_in_passing() -> None:
    template = copy.deepcopy(TEMPLATE)
    made("demo-worker-1", worker={"replicas": 2, "template": template}, sampleSetRef=None)
    assert template == TEMPLATE


def test_the_container_that_we_add_has_requests_and_limits_so_that_quotas_let_it_in() -> None:
    (waiting,) = made("demo-worker-0", worker=role(2))["spec"]["initContainers"]
    assert {kind: sorted(waiting["resources"][kind]) for kind in waiting["resources"]} == {
        "requests": ["cpu", "memory"],
        "limits": ["cpu", "memory"],
    }


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        pytest.param(
            {"requests": {"cpu": 4, "memory": "8Gi"}, "limits": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 1}},
            {"requests": {"cpu": 4, "memory": "8Gi"}, "limits": {"cpu": 4, "memory": "8Gi"}},
            id="theirs, but no devices",
        ),
        pytest.param(
            {"limits": {"cpu": "100m", "memory": "1Gi"}},
            {"limits": {"cpu": "100m", "memory": "1Gi"}},
            id="limits alone",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
            id="ours where they say nothing",
        ),
        pytest.param(
            {"limits": {"cpu": 1, "memory": "8Mi"}},
            {"requests": {"memory": "32Mi"}, "limits": {"cpu": 1, "memory": "128Mi"}},
            id="ours where theirs would not do",
        ),
    ],
)
def test_the_container_that_we_add_asks_for_no_other_resources_than_the_one_that_trains(
    given: Manifest, asked: Manifest
) -> None:
    """So a namespace whose limits let the user's container in lets ours in."""
    worker = role(2)
    worker["template"]["spec"]["containers"][0]["resources"] = given
    (waiting,) = made("demo-worker-0", worker=worker)["spec"]["initContainers"]
    assert waiting["resources"] == asked


@pytest.mark.parametrize(
    ("spec", "pod", "policy"),
    [
        pytest.param({"worker": role(1)}, "demo-worker-0", "Never", id="by default"),
        pytest.param({"worker": role(1), "intranet": "Service"}, "demo-worker-0", "OnFailure", id="by Service"),
        pytest.param({"ps": role(1), "intranet": "Service"}, "demo-ps-0", "Never", id="a server by Service"),
        pytest.param(
            {"worker": role(1, restartPolicy="Never"), "intranet": "Service"}, "demo-worker-0", "Never", id="as asked"
        ),
        pytest.param(
            {"worker": role(1, restartPolicy="Always")}, "demo-worker-0", "OnFailure", id="what would never end"
        ),
    ],
)
def test_the_restart_policy(spec: Manifest, pod: str, policy: str) -> None:
    assert made(pod, **spec)["spec"]["restartPolicy"] == policy


def test_an_elastic_jobs_containers_start_again_where_they_are() -> None:
    worker = role(2, restartPolicy="Never")
    worker["template"]["spec"]["containers"][0]["env"] = [{"name": "PADDLE_ELASTIC_SERVER", "value": "etcd:2379"}]
    pod = made("demo-worker-0", elastic=0, worker=worker)
    assert pod["spec"]["restartPolicy"] == "OnFailure"


def test_a_single_pod_waits_for_nobody() -> None:
    assert "initContainers" not in made("demo-worker-0", worker=role(1))["spec"]


def test_the_only_server_waits_until_its_own_name_is_known() -> None:
    """Paddle's server looks itself up once, and crashes if it is not found."""
    (waiting,) = made("demo-ps-0", ps=role(1), worker=role(2))["spec"]["initContainers"]
    assert waiting["args"][1:] == ["--own=demo-ps-0.demo"]


def test_a_port_that_the_user_lists_is_not_listed_twice() -> None:
    worker = role(1)
    worker["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 36000, "name": "rpc"}]
    pod = made("demo-worker-0", worker=worker, intranet="Service")
    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 36000, "name": "rpc"}]


def test_a_large_job_is_told_in_one_pattern_whom_to_wait_for() -> None:
    world = PaddleWorld(paddle_job(worker=role(1000)))
    world.step()
    assert len(world.all(Piece.POD)) == 1000
    assert world.pod("demo-worker-999")["spec"]["initContainers"][0]["args"][2:] == ["demo-worker-{}.demo=1000"]
