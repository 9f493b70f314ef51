"""What every test on the real cluster has: the cluster itself, with the test image on every node."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.images.runtime import Runtime
from localkube.init.control import Program
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from support import csivolumes, definition, family, imagenet, juicefs, testimages
from support import paddlebox as paddle_image
from support.collected import until_collected
from support.managerprogram import ManagerProgram
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

ROOT = Path(__file__).parents[2]
DEFINITIONS = ROOT / "deploy/v1/crd.yaml"
LONGEST = (
    "test_sampleset", "test_installation", "test_lifecycle", "test_samplejob", "test_nodes", "test_cachebackend",
    "test_paddlejob_training", "test_paddlejob", "test_paddlejob_chaos", "test_paddlejob_elastic", "test_helm",
    "test_kills", "test_paddlejob_life", "test_csi", "test_faults", "test_paddlejob_data", "test_network",
    "test_paddlejob_gang", "test_image", "test_workloads", "test_loop",
)  # fmt: skip
Begin = Callable[..., ManagerProgram]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest: at the end, all clusters should have something to do."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def testbox(localkube_home: Home, localkube_progress: Progress) -> Path:
    return testimages.testbox(localkube_home, localkube_progress)


@pytest.fixture(scope="session", autouse=True)
def _defined(kube: Cluster) -> None:
    """Define all kinds before anything else, so that the garbage collector has learned of them when a test needs it."""
    kubectl = Kubectl.of(kube)
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.apply(definition.DEFINITION)


@pytest.fixture(scope="session", autouse=True)
def _images(kube: Cluster, _defined: None, testbox: Path, localkube_progress: Progress) -> None:
    kube.load(testbox, localkube_progress)


@pytest.fixture
def victim(kube: Cluster) -> Iterator[Node]:
    """node-3, running again afterwards."""
    node = kube.node("node-3")
    yield node
    node.start()
    kube.wait_ready()


@pytest.fixture(scope="session")
def operator_image(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> str:
    """Have the project's own image on every node."""
    archive = testimages.operator(localkube_home, localkube_progress)
    kube.load(archive, localkube_progress)
    return testimages.OPERATOR


@pytest.fixture(scope="session")
def default_image(kube: Cluster, operator_image: str) -> str:
    """Have it under the name, too, that is installed where nobody says another."""
    for node in kube.nodes:
        Runtime(node.control).tag(operator_image, DEFAULT_IMAGE)
    return DEFAULT_IMAGE


@pytest.fixture(scope="session")
def kinds_served(kube: Cluster) -> Kubectl:
    """Have our own kinds."""
    kubectl = Kubectl.of(kube)
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))
    return kubectl


@pytest.fixture
def _kinds_again(kinds_served: Kubectl) -> Iterator[None]:
    """Let other tests find our kinds as they were."""
    yield
    kinds_served.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kinds_served.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))


@pytest.fixture
def begin(
    kube: Cluster, namespace: Kubectl, operator_image: str, kinds_served: Kubectl, tmp_path: Path
) -> Iterator[Begin]:
    """Start managers of PaddleJobs for the test's namespace; what still runs at the end is ended."""
    del kinds_served
    begun: list[ManagerProgram] = []

    def start(*options: str) -> ManagerProgram:
        words = ("--controllers=paddlejob", f"--init-image={operator_image}", *options)
        log = tmp_path / f"manager-{len(begun)}.log"
        begun.append(ManagerProgram(kube.paths.kubeconfig, namespace.namespace, log, *words))
        begun[-1].start()
        return begun[-1]

    yield start
    for manager in begun:
        manager.kill()
        sys.stdout.write(f"--- {manager.log.name}\n{manager.log.read_text()}\n")


@pytest.fixture
def jobs(namespace: Kubectl, begin: Begin) -> Jobs:
    """Give the namespace's PaddleJobs, with a manager that looks after them."""
    begin()
    return Jobs(namespace)


@pytest.fixture(scope="session")
def kinds_collected(kinds_served: Kubectl) -> None:
    """Have a garbage collector that knows PaddleJobs."""
    until_collected(kinds_served, paddle_job("forerunner", worker=role(1, *ENDLESS)))


@pytest.fixture(scope="session")
def parents_served(kube: Cluster) -> None:
    """Have the kind of the tiny controller."""
    kubectl = Kubectl.of(kube)
    kubectl.apply(definition.DEFINITION)
    kubectl.wait("condition=Established", f"crd/{definition.NAME}")
    wait_until(lambda: kubectl.run("get", "parents") is not None, 90, "parents are not served")


@pytest.fixture(scope="session")
def parents_collected(kube: Cluster, parents_served: None) -> None:
    """Have a garbage collector that knows the kind."""
    del parents_served
    until_collected(Kubectl.of(kube), family.parent("forerunner"))


@pytest.fixture(scope="session")
def paddlebox(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> str:
    """Give the name of the image with PaddlePaddle; only tests that ask for it pay for its gigabyte on every node."""
    archive = paddle_image.built(localkube_home, localkube_progress)
    kube.load(archive, localkube_progress)
    return paddle_image.IMAGE


@pytest.fixture(scope="module")
def redis(kube: Cluster) -> Iterator[Node]:
    """Give the node on which a Redis runs, with nothing in it."""
    juicefs.require()
    node = kube.node("node-1")
    node.control.run_inside(["rm", "-rf", "/run/redis"])
    node.control.run_inside(["mkdir", "-p", "/run/redis"])
    node.control.run_inside(["tee", "/run/redis/redis.conf"], stdin=imagenet.REDIS)
    argv = ["/usr/bin/env", "redis-server", "/run/redis/redis.conf"]
    node.control.start(Program("redis", argv, {"PATH": "/usr/bin:/bin"}, "/var/log/localkube/redis.log"))
    yield node
    node.control.stop("redis")


@pytest.fixture(scope="module")
def system(kube: Cluster, operator_image: str, kinds_served: Kubectl) -> Iterator[Kubectl]:
    """Have the documents' namespace, with the node plugin in it."""
    del kinds_served
    yield csivolumes.installed(kube, operator_image)
    csivolumes.uninstall(kube, operator_image)


@pytest.fixture(scope="module")
def manager(
    kube: Cluster, system: Kubectl, operator_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerProgram]:
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    words = (
        "--controllers=sampleset,samplejob,paddlejob",
        f"--runtime-image={operator_image}",
        f"--init-image={operator_image}",
    )
    begun = ManagerProgram(kube.paths.kubeconfig, system.namespace, log, *words)
    begun.start()
    yield begun
    begun.kill()
    sys.stdout.write(f"--- {log.name}\n{log.read_text()}\n")


@pytest.fixture(scope="module")
def data(system: Kubectl, redis: Node, operator_image: str, manager: ManagerProgram) -> Iterator[imagenet.Watched]:
    """Have the set, of one partition as the documents have it, ready; and at last none."""
    assert manager.alive
    system.apply(*imagenet.store(operator_image))
    system.rolled_out("deployment/store")
    source = imagenet.fill(system, imagenet.FILES)
    system.apply(imagenet.volume_secret(redis.spec.address), imagenet.sample_set(source))
    found = imagenet.Watched(system)
    found.until_ready(1)
    yield found
    system.run("delete", "pdj,samplejob,sampleset", "--all", "--wait", "--ignore-not-found")
    system.run("delete", "deployment,service,secret", "store", "--ignore-not-found")
