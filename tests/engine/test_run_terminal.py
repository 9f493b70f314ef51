"""A run seen from a second terminal, by our own verbs and by kubectl."""

import pytest

from localkube.errors import LocalkubeError
from localkube.waiting import wait_until
from support.onemachine import OneMachine, kubectl, serving
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
