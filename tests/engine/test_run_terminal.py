"""A run seen at its own terminal, and from a second one by our own verbs and by kubectl."""

import json
import signal
from pathlib import Path

import click
import pytest

from localkube.errors import LocalkubeError
from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from support.onemachine import OneMachine, kubectl, sample_set, serving
from support.paddlejobs import paddle_job

LONG = paddle_job(
    "long",
    worker={
        "replicas": 1,
        "template": {
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "x", "command": ["sh", "-c", "echo begun; exec sleep 1000"]}],
            }
        },
    },
)
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1", "b": "2"}}


WARM_UP = {
    "apiVersion": "batch.paddlepaddle.org/v1alpha1",
    "kind": "SampleJob",
    "metadata": {"name": "warm"},
    "spec": {"type": "warmup", "sampleSetRef": {"name": "numbers"}},
}


def job(name: str, script: str) -> Manifest:
    container = {"name": "main", "image": "x", "command": ["sh", "-c", script]}
    return paddle_job(name, worker={"replicas": 1, "template": {"spec": {"containers": [container]}}})


def test_a_terminal_shows_phases_progress_and_the_last_line_of_a_log_and_tables_at_the_end(
    machine: OneMachine, tmp_path: Path
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/file").write_text("content")
    parts = {"1": sample_set(tmp_path / "source"), "2": WARM_UP, "3": job("prints", "echo the last line; sleep 1")}
    told = machine.watch("run", *(machine.file(*part) for part in parts.items()), *machine.options)
    assert told.code == 0, (told, machine.own_log)
    drawn = [" ".join(line.split()) for line in click.unstyle(told.errors).splitlines()]
    assert any(line.startswith("sampleset/numbers Ready") for line in drawn), drawn
    assert any(line.startswith("samplejob/warm Succeeded 100%") for line in drawn), drawn
    assert any(line.startswith("prints-worker-0 Running the last line") for line in drawn), drawn
    tables = [line.split()[:2] for line in told.output.splitlines() if line]
    assert [first for first, _ in tables] == ["NAME", "numbers", "NAME", "warm", "NAME", "prints"]
    assert ["prints", "Completed"] in tables


def test_asked_to_stay_a_run_stays_although_a_job_failed(machine: OneMachine) -> None:
    begun = machine.begin("run", "--stay", machine.file("fails", job("fails", "exit 3")))
    try:
        assert begun.stdout is not None
        assert begun.stdout.readline().startswith("NAME")
        assert "Failed" in machine.call("get", "pdj").output
    finally:
        begun.send_signal(signal.SIGTERM)
        begun.communicate(timeout=20)
    assert begun.returncode == 3


def test_interrupted_a_run_tells_how_it_stands(machine: OneMachine) -> None:
    begun = machine.begin("run", "-o", "json", machine.file("long", LONG))
    wait_until(lambda: machine.log("long-worker-0") == "begun\n", 90, "it says nothing", 0.05)
    begun.send_signal(signal.SIGINT)
    told = json.loads(begun.communicate(timeout=20)[0])
    assert begun.returncode == told["exitCode"] == 130
    assert [item["metadata"]["name"] for item in told["items"]] == ["long"]


def begin_long(machine: OneMachine) -> None:
    kubectl(machine).run("apply", "-f", str(machine.file("long", LONG)))
    wait_until(lambda: "Running" in machine.call("get", "pdj").output, 90, "it does not run", 0.1)
    wait_until(lambda: machine.log("long-worker-0") == "begun\n", 90, "it says nothing", 0.05)


def test_our_verbs_show_and_delete_what_runs(machine: OneMachine) -> None:
    with serving(machine):
        begin_long(machine)
        assert "long   Running   Single" in machine.call("get", "pdj").output
        assert "long-worker-0   1/1" in machine.call("get", "pods", "-A").output
        assert "kind: PaddleJob" in machine.call("describe", "paddlejob", "long").output
        assert machine.call("logs", "long-worker-0").output == "begun\n"
        assert machine.call("delete", "pdj", "long").output == "paddlejob/long deleted\n"
        wait_until(lambda: not machine.call("get", "pods").output, 90, "the pod does not end", 0.1)
        assert machine.call("get", "nothings").errors == "Error: there is no kind nothings\n"


def test_kubectl_gets_applies_watches_reads_logs_and_deletes(machine: OneMachine) -> None:
    with serving(machine):
        asks = kubectl(machine)
        begin_long(machine)
        assert "long-worker-0   1/1     Running   0" in asks.run("get", "pods")
        assert asks.run("logs", "long-worker-0") == "begun\n"
        for data in ({"a": "1", "b": "2"}, {"a": "3"}):
            asks.run("apply", "-f", str(machine.file("settings", {**SETTINGS, "data": data})))
        assert asks.get("configmap", "settings")["data"] == {"a": "3"}
        asks.run("wait", "--for=condition=Ready", "pod/long-worker-0", "--timeout=20s")
        with pytest.raises(LocalkubeError, match=r'unknown field "spec\.werker"'):
            asks.run("apply", "-f", str(machine.file("typo", {**LONG, "spec": {**LONG["spec"], "werker": {}}})))
        asks.run("delete", "pdj", "long")
        asks.run("wait", "--for=delete", "pod/long-worker-0", "--timeout=20s")


def test_kubectl_runs_commands_in_containers(machine: OneMachine) -> None:
    with serving(machine):
        begin_long(machine)
        asks = kubectl(machine)
        assert asks.execute("long-worker-0", "sh", "-c", "hostname; cat /proc/1/comm") == "long-worker-0\nsleep\n"
        assert asks.run("exec", "-i", "long-worker-0", "--", "wc", "-c", stdin="x" * 100_000) == "100000\n"
        with pytest.raises(LocalkubeError, match=r"why(.|\n)*command terminated with exit code 3"):
            asks.execute("long-worker-0", "sh", "-c", "echo why >&2; exit 3")
        with pytest.raises(LocalkubeError, match=r'container not found \("other"\)'):
            asks.run("exec", "long-worker-0", "--container=other", "--", "true")


def test_down_ends_what_runs_and_removes_all_of_it(machine: OneMachine) -> None:
    with serving(machine) as begun:
        begin_long(machine)
        assert machine.call("down").code == 0
        begun.wait(20)
    assert not machine.state.exists()
    assert (machine.processes(), machine.mounts()) == ([], [])
    assert machine.call("down").code == 0


def test_down_removes_no_directory_that_is_not_ours(machine: OneMachine) -> None:
    machine.state.mkdir()
    (machine.state / "thesis.txt").write_text("years of work")
    told = machine.call("down")
    assert "thesis.txt in it, which is not ours" in told.errors
    (machine.state / "thesis.txt").unlink()


def test_without_a_run_the_verbs_say_so(machine: OneMachine) -> None:
    told = machine.call("get", "pods")
    assert told.code == 1
    assert f"nothing runs in {machine.state}" in told.errors
