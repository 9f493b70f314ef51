"""The document's TFJob and its cache on the real cluster, with our own engine; then a cache that several jobs share."""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.images import build, load
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import imagenet, mnist
from support.managerprogram import ManagerProgram

PATIENCE = 100


@pytest.fixture(scope="module")
def training(
    kube: Cluster, system: Kubectl, redis: Node, operator_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    """Have a manager of all kinds, the data on the nodes and the volume's Secret; and at last nothing."""
    for node in kube.nodes:
        mnist.put_on(node)
    system.apply(imagenet.volume_secret(redis.spec.address))
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    words = (f"--runtime-image={operator_image}", f"--init-image={operator_image}", "--local-sources=/dataset")
    manager = ManagerProgram(kube.paths.kubeconfig, system.namespace, log, *words)
    manager.start()
    yield system
    for kinds in ("tfjobs,pytorchjobs", "cachebackends", "samplesets"):
        system.run("delete", kinds, "--all", "--wait", "--ignore-not-found")
    manager.kill()
    sys.stdout.write(f"--- {log.name}\n{log.read_text()}\n")


@pytest.fixture(scope="module")
def torchbox(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> tuple[str, str]:
    """Give the image with PyTorch, and the one node that has it; it is larger than all others together."""
    if not os.environ.get("TORCH"):
        pytest.skip("TORCH=1 runs PyTorch itself, from an image of more than a gigabyte: see docs/testing.md")
    node = kube.node("node-2")
    recipe = build.Recipe("localhost/torchbox:1", Path(__file__).parent / "torchbox", base_packages=("python3-torch",))
    load.load([node.control], build.build(localkube_home, recipe, localkube_progress), localkube_progress)
    return recipe.tag, node.name


def table(kubectl: Kubectl, what: str) -> list[list[str]]:
    return [line.split() for line in kubectl.run("get", what).splitlines()]


def test_the_documents_job_reads_its_data_from_its_own_cache_and_takes_it_with_it(
    training: Kubectl, operator_image: str
) -> None:
    training.apply(*mnist.documents_job(operator_image))
    name = f"cache-tf-cache-{training.get('tfjob/tf-cache')['metadata']['uid'][:5]}"
    wait_until(lambda: len(table(training, "cacheBackend")) > 1, PATIENCE, "no cache is made")
    training.wait("jsonpath={.status.cacheStatus}=PVCCreated", f"cachebackend/{name}")
    header, row = table(training, "cacheBackend")
    assert header == ["NAME", "JOB-NAME", "CACHE-STATUS", "AGE"]
    assert row[:3] == [name, "tf-cache", "PVCCreated"]
    wait_until(lambda: mnist.state(training, "tfjob/tf-cache") == "Succeeded", PATIENCE, "the job does not succeed")
    told = mnist.told(training, "tf-cache-worker-0")
    sums = {file: hashlib.sha256(content.encode()).hexdigest() for file, content in mnist.FILES.items()}
    assert told == {"cache": name, "files": sums, "missed": 0}
    header, row = table(training, "tfjob")
    assert (header[0], header[1], row[:2]) == ("NAME", "STATE", ["tf-cache", "Succeeded"])
    assert name in row
    training.run("delete", "tfjob/tf-cache")
    training.wait("delete", f"cachebackend/{name}")
    training.wait("delete", f"sampleset/{name}", f"pvc/{name}")


def test_jobs_share_a_cache_find_each_other_and_give_it_back(training: Kubectl, operator_image: str) -> None:
    def tasks(container: str, program: str, **types: int) -> dict[str, object]:
        return {name: mnist.replicas(operator_image, container, program, number) for name, number in types.items()}

    training.apply(
        mnist.shared_cache(5),
        mnist.training("TFJob", "tf", tasks("tensorflow", mnist.TENSORFLOW, PS=1, Worker=2)),
        mnist.training("PyTorchJob", "torch", tasks("pytorch", mnist.TORCH, Master=1, Worker=1)),
    )
    training.wait("jsonpath={.status.usedNum}=2", "cachebackend/mnist")
    wait_until(lambda: mnist.state(training, "pytorchjob/torch") == "Succeeded", PATIENCE, "PyTorch does not meet")
    assert training.run("logs", "torch-master-0").strip() == "[0, 1]"
    wait_until(lambda: mnist.state(training, "tfjob/tf") == "Succeeded", PATIENCE, "TensorFlow does not meet")
    config = mnist.told(training, "tf-worker-0")
    assert config["task"] == {"type": "worker", "index": 0}
    assert [len(names) for names in config["cluster"].values()] == [1, 2]
    wait_until(lambda: training.items("pods", "-l", "replica-type=ps") == [], PATIENCE, "the server runs on")
    training.wait("delete", "cachebackend/mnist")
    assert mnist.state(training, "tfjob/tf") == "Succeeded"


def test_processes_of_pytorch_itself_learn_together_from_a_cache(training: Kubectl, torchbox: tuple[str, str]) -> None:
    image, node = torchbox
    where = {"nodeSelector": {"kubernetes.io/hostname": node}}
    types = {name: mnist.replicas(image, "pytorch", mnist.DISTRIBUTED, 1, **where) for name in ("Master", "Worker")}
    training.apply(mnist.shared_cache(5), mnist.training("PyTorchJob", "learns", types))
    wait_until(lambda: mnist.state(training, "pytorchjob/learns") == "Succeeded", PATIENCE, "PyTorch does not learn")
    for rank, pod in enumerate(("learns-master-0", "learns-worker-0")):
        assert mnist.told(training, pod) == {"rank": rank, "world": 2, "same": True}
