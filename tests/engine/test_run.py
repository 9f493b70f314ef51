"""Manifests on one machine without a cluster, by the real program."""

import json
import socket
from pathlib import Path

import pytest

from paddle_operator.api.manifest import Manifest
from support.manifests import changed, circulating
from support.onemachine import OneMachine, address_outside
from support.paddlejobs import paddle_job
from support.refusals import REFUSED

PEERS = Path(__file__).parents[1] / "cluster/testbox/peers.py"


def role(replicas: int, *command: str, **fields: object) -> Manifest:
    container = {"name": "main", "image": "demo", "command": list(command)}
    return {"replicas": replicas, "template": {"spec": {"containers": [container | fields]}}}


def test_a_job_ends_with_its_own_exit_code(machine: OneMachine) -> None:
    told = machine.run(paddle_job("fails", worker=role(1, "sh", "-c", "echo why >&2; exit 3")))
    assert told.code == 3, told
    assert told.items["PaddleJob/fails"]["status"]["phase"] == "Failed"
    assert machine.log("fails-worker-0") == "why\n"


def test_a_job_has_its_exit_code_also_when_its_pods_are_cleaned_away(machine: OneMachine) -> None:
    told = machine.run(paddle_job("fails", cleanPodPolicy="Always", worker=role(1, "sh", "-c", "exit 3")))
    assert told.code == 3, told


def test_a_pod_of_its_own_is_waited_for_and_ends_with_its_own_exit_code(machine: OneMachine) -> None:
    spec = {"restartPolicy": "Never", **role(1, "sh", "-c", "sleep 0.5; exit 5")["template"]["spec"]}
    told = machine.run({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": spec})
    assert told.code == 5, told
    assert told.items["Pod/alone"]["status"]["phase"] == "Failed"


@pytest.mark.parametrize(
    "intranet", [pytest.param("", id="by name"), pytest.param("PodIP", id="by number"), pytest.param("Service")]
)
def test_servers_and_workers_find_each_other(machine: OneMachine, intranet: str) -> None:
    peers = ("python3", str(PEERS))
    spec = {"intranet": intranet} if intranet else {}
    told = machine.run(paddle_job("meets", **spec, ps=role(2, *peers), worker=role(2, *peers)))
    assert told.code == 0, (told, machine.own_log)
    assert [machine.log(f"meets-worker-{number}") for number in range(2)] == ["TRAINER 0 met 4\n", "TRAINER 1 met 4\n"]


def test_a_container_has_what_its_pod_declares_and_mounts_only_there(machine: OneMachine) -> None:
    program = (
        "import json, os, socket, sys; from pathlib import Path; "
        "print(json.dumps([os.environ['GREETING'], os.environ['WHO'], sys.argv[1:], socket.gethostname(), os.getpid(), "
        "Path('/never/there/text').read_text(), Path('/scratch').is_dir()]))"
    )
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"text": "from a config map"},
    }
    worker = role(
        1,
        *("python3", "-c", program),
        args=["$(GREETING) you", "$(UNKNOWN)"],
        env=[
            {"name": "GREETING", "value": "hello"},
            {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        volumeMounts=[
            {"name": "settings", "mountPath": "/never/there"},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    )
    worker["template"]["spec"]["volumes"] = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    told = machine.run(settings, paddle_job("looks", worker=worker))
    assert told.code == 0, (told, machine.own_log, machine.log("looks-worker-0"))
    assert json.loads(machine.log("looks-worker-0")) == [
        *("hello", "looks-worker-0", ["hello you", "$(UNKNOWN)"]),
        *("looks-worker-0", 1, "from a config map", True),
    ]
    assert not Path("/never").exists()


def test_a_sidecar_begins_before_the_main_container_runs_on_beside_it_and_ends_after_it(machine: OneMachine) -> None:
    serves = "trap 'echo ended; exit 0' TERM; touch /shared/there; echo begun; while :; do sleep 0.1; done"
    is_there = {"exec": {"command": ["test", "-e", "/shared/there"]}, "periodSeconds": 1}
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    sidecar = {"name": "beside", "image": "x", "command": ["sh", "-c", serves], "volumeMounts": mounts}
    worker = role(1, "sh", "-c", "test -e /shared/there && test -e /shared/first && exit 4", volumeMounts=mounts)
    first = {"name": "first", "image": "x", "command": ["touch", "/shared/first"], "volumeMounts": mounts}
    worker["template"]["spec"] |= {
        "initContainers": [{**sidecar, "restartPolicy": "Always", "startupProbe": is_there}, first],
        "volumes": [{"name": "shared", "emptyDir": {}}],
    }
    told = machine.run(paddle_job("helped", worker=worker))
    assert told.code == 4, (told, machine.own_log, machine.log("helped-worker-0", "beside"))
    assert machine.log("helped-worker-0", "beside") == "begun\nended\n"


def test_a_directory_to_work_in_is_made_where_there_is_none_and_not_on_the_machine(machine: OneMachine) -> None:
    told = machine.run(paddle_job("works", worker=role(1, "pwd", workingDir="/never/there")))
    assert told.code == 0, (told, machine.log("works-worker-0"))
    assert machine.log("works-worker-0") == "/never/there\n"
    assert not Path("/never").exists()


def test_a_program_that_there_is_not_is_named(machine: OneMachine) -> None:
    told = machine.run(paddle_job("lacks", worker=role(1, "no-such-program")))
    assert told.code == 128
    assert machine.log("lacks-worker-0").startswith("there is no program no-such-program on this machine")


@pytest.mark.parametrize("wrong", ["zero partitions", "source and sources", "a schedule's name that is too long"])
def test_what_the_api_server_refuses_is_told_in_its_words(machine: OneMachine, wrong: str) -> None:
    name, changes, words = REFUSED[wrong]
    bad = changed(circulating(name), changes)
    told = machine.call("run", machine.file("bad", bad), *machine.options)
    assert told.code == 1
    assert f'bad.yaml: {bad["kind"]}.batch.paddlepaddle.org "{bad["metadata"]["name"]}" is invalid: ' in told.errors
    assert words in told.errors
    assert "Traceback" not in told.errors


def test_a_typing_error_is_refused_as_by_kubectl(machine: OneMachine) -> None:
    told = machine.call("run", machine.file("typo", paddle_job("typo", werker=role(1, "true"))))
    assert told.code == 1
    assert 'strict decoding error: unknown field "spec.werker"' in told.errors


def test_a_container_without_a_command_is_told_what_it_lacks(machine: OneMachine) -> None:
    job = paddle_job(
        "bare", worker={"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}
    )
    told = machine.run(job)
    assert told.code == 1
    assert "container main of PaddleJob bare names no command" in told.errors


def test_a_pod_that_waits_for_somebody_says_for_what(machine: OneMachine) -> None:
    worker = role(1, "true", envFrom=[{"secretRef": {"name": "keys"}}])
    told = machine.call("run", machine.file("stuck", paddle_job("stuck", worker=worker)), "--timeout=3")
    assert told.code == 1
    assert 'pod/stuck-worker-0 CreateContainerConfigError: secret "keys" not found' in told.errors


def test_a_pod_whose_volume_cannot_be_had_says_why(machine: OneMachine) -> None:
    worker = role(1, "true")
    worker["template"]["spec"]["volumes"] = [{"name": "settings", "configMap": {"name": "settings"}}]
    words = 'pod/stuck-worker-0 FailedMount: configmap "settings" not found'
    assert machine.says(words, "run", machine.file("stuck", paddle_job("stuck", worker=worker))), machine.own_log


def test_a_run_that_takes_too_long_says_so_and_how_it_stands(machine: OneMachine) -> None:
    worker = role(1, "sleep", "1000")
    worker["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    told = machine.run(paddle_job("long", worker=worker), options=["--timeout=5"])
    assert told.code == 1
    assert told.errors == "Error: it has not come to its end in 5 seconds: give it more with --timeout\n"
    assert "PaddleJob/long" in told.items


def test_what_is_ignored_is_said_once(machine: OneMachine) -> None:
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "closed"}}
    worker = role(1, "true", lifecycle={"preStop": {"exec": {"command": ["true"]}}})
    file = machine.file("both", policy, paddle_job("ends", worker=worker))
    told = machine.call("run", file)
    assert told.code == 0, told
    words = "on one machine without a cluster these are ignored: network policies, images, lifecycle hooks\n"
    assert told.errors.count(words) == 1, told.errors


def test_nothing_is_left_of_a_run(machine: OneMachine) -> None:
    told = machine.run(paddle_job("ends", worker=role(1, "sh", "-c", "sleep 1000 & exit 0")))
    assert told.code == 0, told
    assert machine.processes() == []
    assert machine.mounts() == []


def test_a_pod_reaches_the_world_outside_and_not_the_machines_own_doors(machine: OneMachine) -> None:
    host = address_outside()
    with socket.create_server((host, 0)) as outside, socket.create_server(("127.0.0.1", 0)) as inside:
        endpoints = [server.getsockname() for server in (outside, inside)]
        program = f"""
import socket
for endpoint in {endpoints!r}:
    try:
        socket.create_connection(endpoint, timeout=5).close()
        print("reached")
    except OSError as error:
        print(error.strerror)
"""
        told = machine.run(paddle_job("looks", worker=role(1, "python3", "-c", program)))
    assert told.code == 0, (told, machine.own_log)
    assert machine.log("looks-worker-0") == "reached\nConnection refused\n"
