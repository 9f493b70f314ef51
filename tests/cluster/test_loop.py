"""The loop on the real API server: the same controller as in tests/loop."""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localkube import faults
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from paddle_operator.control.execute import Executor
from paddle_operator.control.lease import Timing
from paddle_operator.control.outcome import Done
from paddle_operator.control.plan import Create, Plan
from paddle_operator.kube import config, errors, request
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder
from paddle_operator.kube.request import Kind, Request
from support import family, familymanager
from support.familymanager import LEASE, MARK

SECRETS = Kind("", "v1", "secrets", "Secret")
# Long enough for an API server that has much to do, and a third of what an heir usually waits for.
HASTY = Timing(duration=5.0, renew_deadline=4.0, retry_period=0.5)
Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.usefixtures("parents_served")


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def start(kube: Cluster, namespace: Kubectl, tmp_path: Path) -> Iterator[Start]:
    """Start a manager of the tiny controller; what still runs at the end is ended."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(identity: str, timing: Timing | None = None) -> subprocess.Popen[bytes]:
        argv = familymanager.command(kube.paths.kubeconfig, namespace.namespace, identity, timing)
        with (tmp_path / f"{identity}.log").open("wb") as log:
            process = subprocess.Popen(argv, stderr=log, env=familymanager.environment())
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
    for log in sorted(tmp_path.glob("*.log")):
        sys.stdout.write(f"--- {log.name}\n{log.read_text()}\n")


def is_grown(kubectl: Kubectl, name: str, children: int = 3) -> bool:
    status = kubectl.get(f"parent/{name}").get("status") or {}
    ready = [condition["status"] for condition in status.get("conditions", [])] == ["True"]
    return ready and status["children"] == children == len(child_names(kubectl, name))


def child_names(kubectl: Kubectl, name: str) -> list[str]:
    maps = kubectl.items("configmaps", f"--selector={family.LABEL}=yes")
    return [found["metadata"]["name"] for found in maps if found["metadata"]["name"].startswith(f"{name}-")]


def grow(kubectl: Kubectl, name: str, **fields: object) -> None:
    wanted = family.parent(name, kubectl.namespace)
    wanted["spec"] |= fields
    kubectl.apply(wanted)
    children = int(str(fields.get("children", 3)))
    wait_until(lambda: is_grown(kubectl, name, children), 60, f"{name} has not its children")


def versions(kubectl: Kubectl) -> dict[str, str]:
    found = [*kubectl.items("parents"), *kubectl.items("configmaps")]
    return {f"{item['kind']}/{item['metadata']['name']}": item["metadata"]["resourceVersion"] for item in found}


def holder(kubectl: Kubectl) -> str:
    return str(kubectl.get(f"lease/{LEASE}")["spec"]["holderIdentity"])


def test_children_grow_change_go_and_come_back(namespace: Kubectl, start: Start) -> None:
    start("manager-1")
    grow(namespace, "ada")
    namespace.run("delete", "configmap/ada-1")
    wait_until(lambda: is_grown(namespace, "ada"), 90, "the deleted child does not come back")
    namespace.run("patch", "configmap/ada-0", "--type=merge", '--patch={"data":{"value":"wrong"}}')
    wait_until(lambda: namespace.get("configmap/ada-0")["data"] == {"value": "one"}, 90, "it stays wrong")
    grow(namespace, "ada", value="two", extra="more")
    wait_until(lambda: namespace.get("configmap/ada-2")["data"] == {"value": "two", "extra": "more"}, 90, "no change")
    namespace.run("patch", "parent/ada", "--type=json", '--patch=[{"op":"remove","path":"/spec/extra"}]')
    wait_until(lambda: namespace.get("configmap/ada-2")["data"] == {"value": "two"}, 90, "the given up field stays")
    grow(namespace, "ada", children=1)
    wait_until(lambda: "Grown" in namespace.run("get", "events"), 90, "no event")


def test_a_manager_started_again_changes_nothing(namespace: Kubectl, start: Start) -> None:
    first = start("manager-1")
    grow(namespace, "ada")
    first.send_signal(signal.SIGTERM)
    assert first.wait(20) == 0
    assert holder(namespace) == ""
    before = versions(namespace)
    start("manager-2")
    grow(namespace, "marker")
    after = versions(namespace)
    assert {name: after[name] for name in before} == before


def test_a_killed_leader_is_followed_by_the_other(namespace: Kubectl, start: Start) -> None:
    first = start("manager-1", HASTY)
    grow(namespace, "ada")
    second = start("manager-2", HASTY)
    assert holder(namespace) == "manager-1"
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    namespace.run("delete", "configmap/ada-1")
    wait_until(lambda: holder(namespace) == "manager-2", 90, "nobody follows")
    wait_until(lambda: is_grown(namespace, "ada"), 90, "the heir does not work")
    assert namespace.get(f"lease/{LEASE}")["spec"]["leaseTransitions"] == 1
    assert second.poll() is None


def test_a_leader_that_was_paused_does_not_act_beside_its_heir(namespace: Kubectl, start: Start) -> None:
    first = start("manager-1", HASTY)
    grow(namespace, "ada")
    start("manager-2", HASTY)
    first.send_signal(signal.SIGSTOP)
    wait_until(lambda: holder(namespace) == "manager-2", 40, "nobody follows")
    first.send_signal(signal.SIGCONT)
    assert first.wait(20) != 0
    assert holder(namespace) == "manager-2"
    grow(namespace, "eve")


async def test_an_object_of_absurd_depth_stops_nobody(kube: Cluster, namespace: Kubectl, start: Start) -> None:
    """The API server takes it, since the schema is open there: in a list, then in a watch."""

    async def grow_deep(name: str) -> None:
        manifest = request.encode(family.parent(name, namespace.namespace, children=1, value="here"))
        deep = manifest.replace(b'"spec":{', b'"spec":{"deep":' + b'{"a":[' * 4000 + b"1" + b"]}" * 4000 + b",")
        async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
            await client.send(Request("POST", family.PARENTS.collection(namespace.namespace), body=deep))

    await grow_deep("before")
    process = start("manager-1")
    wait_until(lambda: child_names(namespace, "before") == ["before-0"], 60, "nothing grows")
    await grow_deep("after")
    wait_until(lambda: child_names(namespace, "after") == ["after-0"], 60, "nothing grows any more")
    assert process.poll() is None


async def test_as_many_as_fit_a_quota_are_made_and_the_rest_when_there_is_room(
    kube: Cluster, namespace: Kubectl
) -> None:
    def allow(number: int) -> None:
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"count/secrets": str(number)}}}
        namespace.apply({"apiVersion": "v1", "kind": "ResourceQuota", **quota})
        namespace.wait(f"jsonpath={{.status.hard.count/secrets}}={number}", "resourcequota/few")

    def names() -> list[str]:
        return [found["metadata"]["name"] for found in namespace.items("secrets")]

    wanted = [{"metadata": {"name": f"s-{number}", "namespace": namespace.namespace}} for number in range(6)]
    plan = Plan(create=tuple(Create(SECRETS, manifest) for manifest in wanted))
    allow(2)
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
        executor = Executor(client, {}, Recorder(client, "tester"), MARK)
        with pytest.raises(errors.ForbiddenError, match="exceeded quota: few"):
            await executor.execute(plan)
        assert len(names()) == 2
        allow(9)
        assert await executor.execute(plan) == Done()
    assert names() == [f"s-{number}" for number in range(6)]


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.read() == b"ok\n")
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return False


@pytest.mark.usefixtures("kinds_served")
def test_the_command_leads_answers_probes_and_lets_go(kube: Cluster, namespace: Kubectl, free_port: int) -> None:
    argv = [
        str(Path(sys.executable).with_name("paddle-operator")), "manager", "--leader-elect",
        f"--kubeconfig={kube.paths.kubeconfig}", f"--lease-namespace={namespace.namespace}", f"--lease-name={LEASE}",
        f"--health-probe-bind-address=127.0.0.1:{free_port}", "--metrics-bind-address=0",
        f"--namespace={namespace.namespace}",
    ]  # fmt: skip
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: holder(namespace) != "", 90, "it does not lead")
            wait_until(lambda: is_ready(free_port), 90, "it is not ready")
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert holder(namespace) == ""


def test_a_killed_api_server_is_found_again_and_nothing_is_missed(
    kube: Cluster, namespace: Kubectl, start: Start
) -> None:
    process = start("manager-1")
    grow(namespace, "ada")
    restarts = kube.control.status()["kube-apiserver"].restarts
    faults.component(kube, "kube-apiserver").kill()
    wait_until(lambda: kube.control.status()["kube-apiserver"].restarts == restarts + 1, 90, "it stays dead")
    wait_until(kube.api.ready, 60, "the API server does not come back")
    namespace.run("delete", "configmap/ada-1")
    wait_until(lambda: is_grown(namespace, "ada"), 60, "the deletion was missed")
    grow(namespace, "eve")
    assert process.poll() is None
    assert namespace.get(f"lease/{LEASE}")["spec"]["leaseTransitions"] == 0
