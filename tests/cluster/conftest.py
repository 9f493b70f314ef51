"""What every test on the real cluster has: the cluster itself, with the test image on every node."""

from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.images import build, load
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import definition, family
from support import paddlebox as paddle_image
from support.workloads import BASE, TESTBOX


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def testbox(localkube_home: Home, localkube_progress: Progress) -> Path:
    context = Path(__file__).parent / "testbox"
    return build.build(localkube_home, build.Recipe(TESTBOX, context, base_packages=BASE), localkube_progress)


@pytest.fixture(scope="session", autouse=True)
def _images(kube: Cluster, testbox: Path, localkube_progress: Progress) -> None:
    load.load([node.control for node in kube.nodes], testbox, localkube_progress)


@pytest.fixture(scope="session")
def parents_served(kube: Cluster) -> None:
    """Have the kind of the tiny controller."""
    kubectl = Kubectl.of(kube)
    kubectl.apply(definition.DEFINITION)
    kubectl.wait("condition=Established", f"crd/{definition.NAME}")
    wait_until(lambda: kubectl.run("get", "parents") is not None, 30, "parents are not served")


@pytest.fixture(scope="session")
def parents_collected(kube: Cluster, parents_served: None) -> None:
    """Have a garbage collector that knows the kind: it looks for new kinds twice a minute."""
    del parents_served
    kubectl = Kubectl.of(kube)
    kubectl.apply(family.parent("forerunner"))
    owner = kubectl.get("parent/forerunner")
    kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", **family.child(owner, 0)})
    kubectl.run("delete", "parent/forerunner")
    kubectl.wait("delete", "configmap/forerunner-0")


@pytest.fixture(scope="session")
def paddlebox(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> str:
    """Give the name of the image with PaddlePaddle; only tests that ask for it pay for its gigabyte on every node."""
    archive = paddle_image.built(localkube_home, localkube_progress)
    load.load([node.control for node in kube.nodes], archive, localkube_progress)
    return paddle_image.IMAGE
