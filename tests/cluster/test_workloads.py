"""Pods, their controllers and what people do to them by hand."""

import subprocess
import urllib.request

import pytest

from localkube import errors
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import workloads


def test_exec_and_logs_reach_a_pod_on_every_node(kube: Cluster, namespace: Kubectl) -> None:
    names = [node.name for node in kube.nodes]
    script = 'echo "started on $0"; exec sleep infinity'
    namespace.apply(*(workloads.pod(f"on-{n}", workloads.pod_spec("sh", "-c", script, n, node=n)) for n in names))
    namespace.wait("condition=Ready", "pod", "--all")
    for name in names:
        assert namespace.run("logs", f"on-{name}") == f"started on {name}\n"
        assert namespace.execute(f"on-{name}", "hostname") == f"on-{name}\n"


def test_port_forward_carries_a_request_into_a_pod(namespace: Kubectl) -> None:
    namespace.apply(workloads.server_pod("web"))
    namespace.wait("condition=Ready", "pod/web")
    argv = namespace.argv("port-forward", "pod/web", ":8080", "--address=127.0.0.1")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as forward:
        assert forward.stdout is not None
        try:
            port = forward.stdout.readline().split(" -> ")[0].rsplit(":", 1)[1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
                assert answer.read().decode().strip() == "web"
        finally:
            forward.terminate()


def test_a_stateful_set_with_anti_affinity_takes_one_node_each(kube: Cluster, namespace: Kubectl) -> None:
    spec = workloads.pod_spec("sleep", "infinity", affinity=workloads.one_per_node("db"))
    count = len(kube.nodes)
    namespace.apply(workloads.replicated("StatefulSet", "db", count, spec, serviceName="db"))
    namespace.rolled_out("statefulset/db")
    placed = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in namespace.items("pods")}
    assert sorted(placed) == [f"db-{number}" for number in range(count)]
    assert sorted(placed.values()) == sorted(node.name for node in kube.nodes)


def test_one_pod_more_than_nodes_stays_pending_and_says_why(kube: Cluster, namespace: Kubectl) -> None:
    spec = workloads.pod_spec("sleep", "infinity", affinity=workloads.one_per_node("wide"))
    namespace.apply(workloads.replicated("Deployment", "wide", len(kube.nodes) + 1, spec))
    namespace.wait(f"jsonpath={{.status.readyReplicas}}={len(kube.nodes)}", "deployment/wide")

    def said() -> bool:
        reasons = [event["message"] for event in namespace.items("events", "--field-selector=reason=FailedScheduling")]
        return any("anti-affinity" in reason for reason in reasons)

    wait_until(said, 90, "the scheduler gave no reason")


def test_a_deployment_is_rolled_to_a_new_template(namespace: Kubectl) -> None:
    def deployment(version: str) -> workloads.Manifest:
        spec = workloads.pod_spec("sleep", "infinity")
        spec["containers"][0]["env"] = [{"name": "VERSION", "value": version}]
        return workloads.replicated("Deployment", "app", 3, spec)

    for version in ("one", "two"):
        namespace.apply(deployment(version))
        namespace.rolled_out("deployment/app")
        wait_until(lambda: len(namespace.items("pods")) == 3, 60, "old pods do not go")
        assert {
            namespace.execute(_name(pod), "sh", "-c", "echo $VERSION").strip() for pod in namespace.items("pods")
        } == {version}


def _name(pod: workloads.Manifest) -> str:
    return str(pod["metadata"]["name"])


def test_a_container_over_its_memory_limit_is_killed(namespace: Kubectl) -> None:
    spec = workloads.pod_spec("python3", "-c", "held = bytearray(200 << 20)", restartPolicy="Never")
    spec["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    namespace.apply(workloads.pod("hungry", spec))
    namespace.wait("jsonpath={.status.phase}=Failed", "pod/hungry")
    ended = namespace.get("pod/hungry")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["reason"] == "OOMKilled"


def test_a_cpu_limit_slows_a_container_down(namespace: Kubectl) -> None:
    burn = "import time; end = time.monotonic() + 3\nwhile time.monotonic() < end: pass\nprint(time.process_time() / 3)"
    spec = workloads.pod_spec("python3", "-c", burn, restartPolicy="Never")
    spec["containers"][0]["resources"] = {"limits": {"cpu": "200m"}}
    namespace.apply(workloads.pod("busy", spec))
    namespace.wait("jsonpath={.status.phase}=Succeeded", "pod/busy")
    assert float(namespace.run("logs", "busy")) < 0.35


def test_a_pod_asking_for_more_than_any_node_has_stays_pending(namespace: Kubectl) -> None:
    spec = workloads.pod_spec("sleep", "infinity")
    spec["containers"][0]["resources"] = {"requests": {"memory": "900Gi"}}
    namespace.apply(workloads.pod("huge", spec))
    namespace.wait("condition=PodScheduled=false", "pod/huge")
    with pytest.raises(errors.CommandFailedError):
        namespace.wait("condition=Ready", "pod/huge", timeout=1)


def test_a_service_account_may_do_what_its_role_says_and_nothing_else(namespace: Kubectl) -> None:
    namespace.run("create", "serviceaccount", "reader")
    namespace.run("create", "role", "reader", "--verb=get,list", "--resource=pods")
    namespace.run("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace.namespace}:reader")
    namespace.apply(workloads.sleeping_pod("inside", serviceAccountName="reader"))
    namespace.wait("condition=Ready", "pod/inside")
    ask = (
        "import json, ssl, sys, urllib.request, urllib.error\n"
        "base = '/var/run/secrets/kubernetes.io/serviceaccount/'\n"
        "request = urllib.request.Request('https://kubernetes.default.svc' + sys.argv[1])\n"
        "request.add_header('Authorization', 'Bearer ' + open(base + 'token').read())\n"
        "trusted = ssl.create_default_context(cafile=base + 'ca.crt')\n"
        "try: print(urllib.request.urlopen(request, context=trusted).status)\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
    )
    pods = f"/api/v1/namespaces/{namespace.namespace}/pods"
    assert namespace.execute("inside", "python3", "-c", ask, pods) == "200\n"
    assert namespace.execute("inside", "python3", "-c", ask, pods.replace("pods", "secrets")) == "403\n"
    assert namespace.execute("inside", "python3", "-c", ask, "/api/v1/nodes") == "403\n"
