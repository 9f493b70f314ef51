"""What every test on the real cluster has: the cluster itself, with the test image on every node."""

from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.images import build, load
from localkube.paths import Home
from localkube.progress import Progress
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
def paddlebox(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> str:
    """Give the name of the image with PaddlePaddle; only tests that ask for it pay for its gigabyte on every node."""
    archive = paddle_image.built(localkube_home, localkube_progress)
    load.load([node.control for node in kube.nodes], archive, localkube_progress)
    return paddle_image.IMAGE
