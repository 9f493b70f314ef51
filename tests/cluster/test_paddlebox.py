"""Real Paddle trainings in pods made by hand: what a job must tell its pods so that they find each other."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import workloads
from support.workloads import Manifest

SERVICE = "training"
PORT, GLOO_PORT = 36000, 36018
NODES = ("node-1", "node-2")
LAUNCHER = ("python3", "-m", "paddle.distributed.launch")
UNTIL_RESOLVED = 'for name; do until python3 /opt/testbox/resolve.py "$name"; do sleep 0.2; done; done'


@dataclass(frozen=True)
class Member:
    """One pod of a training, under a name with a dot in it: Paddle's launcher takes no other for an address."""

    role: str
    index: int
    namespace: str

    @property
    def pod(self) -> str:
        return f"{self.role}-{self.index}"

    @property
    def host(self) -> str:
        return f"{self.pod}.{SERVICE}.{self.namespace}.svc"

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{PORT}"

    def environment(self) -> dict[str, str]:
        role = "PSERVER" if self.role == "ps" else "TRAINER"
        names = {"TRAINING_ROLE": role, "PADDLE_TRAINING_ROLE": role, "PADDLE_TRAINER_ID": str(self.index)}
        return {**names, "POD_IP": self.host, "PADDLE_PORT": str(PORT), "PADDLE_CURRENT_ENDPOINT": self.endpoint}


def _members(namespace: Kubectl, role: str, count: int) -> list[Member]:
    return [Member(role, index, namespace.namespace) for index in range(count)]


def _endpoints(members: Sequence[Member]) -> str:
    return ",".join(member.endpoint for member in members)


def _pod(image: str, command: Sequence[str], node: str | None = None) -> Manifest:
    spec = workloads.pod_spec(*command, node=node, restartPolicy="Never")
    spec["containers"][0]["image"] = image
    return spec


def _start(namespace: Kubectl, image: str, members: Sequence[Member], command: Sequence[str], **shared: str) -> None:
    """Start all at once, neighbours on different nodes; each holds until the others' names are known."""
    service = workloads.service(SERVICE, SERVICE, clusterIP="None", publishNotReadyAddresses=True)
    pods = []
    for member, node in zip(members, itertools.cycle(NODES), strict=False):
        spec = {**_pod(image, command, node), "hostname": member.pod, "subdomain": SERVICE}
        waiting = ("sh", "-c", UNTIL_RESOLVED, "sh", *(peer.host for peer in members))
        spec["initContainers"] = [{**workloads.container(*waiting), "name": "peers"}]
        env = {**member.environment(), **shared}
        spec["containers"][0]["env"] = [{"name": name, "value": value} for name, value in env.items()]
        pods.append(workloads.pod(member.pod, spec, app=SERVICE))
    namespace.apply(service, *pods)


def _result(namespace: Kubectl, pod: str) -> dict[str, object]:
    """Wait for the pod's end, and return the line of JSON among all that Paddle writes."""

    def phase() -> str:
        return str(namespace.get(f"pod/{pod}")["status"]["phase"])

    wait_until(lambda: phase() in {"Succeeded", "Failed"}, 90, f"{pod} does not end", pause=0.5)
    said = namespace.run("logs", pod)
    assert phase() == "Succeeded", said
    [line] = [line for line in said.splitlines() if line.startswith("{")]
    result: dict[str, object] = json.loads(line)
    return result


@pytest.mark.parametrize("launcher", [(), LAUNCHER], ids=["by themselves", "by Paddle's launcher"])
def test_two_workers_on_two_nodes_train_one_model(
    namespace: Kubectl, paddlebox: str, launcher: tuple[str, ...]
) -> None:
    workers = _members(namespace, "worker", 2)
    command = (*(launcher or ("python3",)), "/opt/paddlebox/collective.py")
    shared = {"PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ENDPOINTS": _endpoints(workers)}
    _start(namespace, paddlebox, workers, command, PADDLE_DISTRI_BACKEND="gloo", **shared)
    for worker in workers:
        result = _result(namespace, worker.pod)
        assert (result["rank"], result["world"], result["sum"]) == (worker.index, 2, 11)
        assert str(result["endpoint"]).partition(":")[0] == worker.host


def test_two_workers_learn_from_each_other_through_two_servers(namespace: Kubectl, paddlebox: str) -> None:
    servers, workers = _members(namespace, "ps", 2), _members(namespace, "worker", 2)
    shared = {
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_TRAINER_ENDPOINTS": _endpoints(workers),
        "PADDLE_PSERVERS_IP_PORT_LIST": _endpoints(servers),
        "PADDLE_WITH_GLOO": "1",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_HTTP_ENDPOINT": f"{servers[0].host}:{GLOO_PORT}",
    }
    _start(namespace, paddlebox, [*servers, *workers], ("python3", "/opt/paddlebox/wide_and_deep.py"), **shared)
    for worker in workers:
        result = _result(namespace, worker.pod)
        assert (result["index"], result["workers"]) == (worker.index, 2)
        assert result["servers"] == [server.endpoint for server in servers]
    phases = [namespace.get(f"pod/{server.pod}")["status"]["phase"] for server in servers]
    assert phases == ["Running", "Running"], "servers do not end by themselves: whoever runs the job has to stop them"


def test_a_single_worker_needs_to_be_told_nothing(namespace: Kubectl, paddlebox: str) -> None:
    namespace.apply(workloads.pod("worker-0", _pod(paddlebox, ("python3", "/opt/paddlebox/single.py"))))
    assert _result(namespace, "worker-0").keys() == {"first_loss", "last_loss"}
