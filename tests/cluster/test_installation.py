"""The committed files, applied as people apply them: managers that work with the rights they are given, and an end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from support.csivolumes import SYSTEM, registered
from support.paddlejobs import Jobs, paddle_job, role
from support.samplesets import sample_set, secret

from .conftest import DEFINITIONS, ROOT

FILES = ("v1/crd.yaml", "v1/operator.yaml", "extensions/controllers.yaml")
MANAGERS = ("paddle-controller-manager", "paddle-sampleset-manager", "paddle-samplejob-manager")
# All that an installation makes outside of namespaces, and the namespaces themselves.
KINDS = "namespaces,clusterroles,clusterrolebindings,csidrivers,customresourcedefinitions"
# Those of other tests are not ours, nor what Kubernetes has by itself.
OURS = ("paddle-", "csi.juicefs.com", "batch.paddlepaddle.org", "kubedl.io")
MANY = 60


@pytest.fixture
def files(operator_image: str, tmp_path: Path) -> list[str]:
    """Give the committed files with the image that is on the nodes, in the order of the documents."""
    for name in FILES:
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text((ROOT / "deploy" / name).read_text().replace(DEFAULT_IMAGE, operator_image))
    return [str(tmp_path / name) for name in FILES]


@pytest.fixture
def cluster(kube: Cluster, kinds_served: Kubectl) -> Iterator[Kubectl]:
    """Give the cluster; other tests find our kinds as they were."""
    del kinds_served
    kubectl = Kubectl.of(kube, SYSTEM)
    yield kubectl
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))


def left(kubectl: Kubectl) -> list[str]:
    names = kubectl.run("get", KINDS, "-o", "name").split()
    return [name for name in names if any(word in name.partition("/")[2] for word in OURS)]


def restarts(kubectl: Kubectl) -> dict[str, int]:
    pods = kubectl.items("pods", "--selector=app.kubernetes.io/part-of=paddle-operator")
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods}


def refused(said: str) -> list[str]:
    return [line for line in said.splitlines() if "403" in line or "orbidden" in line]


def test_the_committed_files_bring_managers_that_work_and_leave_nothing(
    kube: Cluster, cluster: Kubectl, files: list[str], namespace: Kubectl
) -> None:
    for file in files:
        cluster.run("apply", "-f", file)
    for manager in MANAGERS:
        cluster.rolled_out(f"deployment/{manager}")
    cluster.rolled_out("daemonset/paddle-csi-node")
    nodes = {node.name for node in kube.nodes}
    wait_until(lambda: registered(cluster) == nodes, MANY, "the driver is not registered on every node")
    jobs = Jobs(namespace)
    keys = {"apiVersion": "v1", "kind": "Secret", **secret(namespace.namespace)}
    jobs.submit(paddle_job("single", worker=role(1, "true")), keys, sample_set(namespace.namespace))
    jobs.until("Completed", "single")
    namespace.wait("jsonpath={.status.phase}=Bound", "sampleset/imagenet")
    namespace.wait("create", "pod/imagenet-runtime-0")
    namespace.run("delete", "pdj,samplesets", "--all", "--wait")
    assert set(restarts(cluster).values()) == {0}
    for manager in MANAGERS:
        said = cluster.run("logs", f"deployment/{manager}", "--tail=-1")
        assert "lease acquired" in said
        assert refused(said) == []
    for file in reversed(files):
        cluster.run("delete", "-f", file, "--wait")
    assert left(cluster) == []
