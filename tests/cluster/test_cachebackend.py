"""The document's TFJob and its cache on the real cluster, with our own engine; then a cache that several jobs share."""

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.images import build
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import imagenet, mnist
from support.managerprogram import ManagerProgram
from support.mnist import PATIENCE, Training


@pytest.fixture(scope="module")
def training(
    kube: Cluster, system: Kubectl, redis: Node, operator_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Training]:
    """Have a manager of all kinds, the data on the nodes and the volume's Secret; and at last nothing."""
    for node in kube.nodes:
        mnist.put_on(node)
    system.apply(imagenet.volume_secret(redis.spec.address))
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    words = (f"--runtime-image={operator_image}", f"--init-image={operator_image}", "--local-sources=/dataset")
    manager = ManagerProgram(kube.paths.kubeconfig, system.namespace, log, *words)
    manager.start()
    yield Training(system, operator_image)
    for kinds in ("tfjobs,pytorchjobs", "cachebackends", "samplesets"):
        system.run("delete", kinds, "--all", "--wait", "--ignore-not-found")
    manager.kill()
    sys.stdout.write(f"--- {log.name}\n{log.read_text()}\n")


@pytest.fixture(scope="module")
def torchbox(kube: Cluster, localkube_home: Home, localkube_progress: Progress) -> str:
    """Give the name of the image with PyTorch; it is larger than all others together."""
    if not os.environ.get("TORCH"):
        pytest.skip("TORCH=1 runs PyTorch itself, from an image of more than a gigabyte: see docs/testing.md")
    recipe = build.Recipe("localhost/torchbox:1", Path(__file__).parent / "torchbox", base_packages=("python3-torch",))
    kube.load(build.build(localkube_home, recipe, localkube_progress), localkube_progress)
    return recipe.tag


def table(kubectl: Kubectl, what: str) -> list[list[str]]:
    return [line.split() for line in kubectl.run("get", what).splitlines()]


def test_the_documents_job_reads_its_data_from_its_own_cache_and_takes_it_with_it(training: Training) -> None:
    kubectl = training.kubectl
    kubectl.apply(*training.documents_job())
    name = f"cache-tf-cache-{kubectl.get('tfjob/tf-cache')['metadata']['uid'][:5]}"
    wait_until(lambda: len(table(kubectl, "cacheBackend")) > 1, PATIENCE, "no cache is made")
    kubectl.wait("jsonpath={.status.cacheStatus}=PVCCreated", f"cachebackend/{name}")
    header, row = table(kubectl, "cacheBackend")
    assert header == ["NAME", "JOB-NAME", "CACHE-STATUS", "AGE"]
    assert row[:3] == [name, "tf-cache", "PVCCreated"]
    training.until_succeeded("tfjob/tf-cache")
    told = training.told("tf-cache-worker-0")
    sums = {file: hashlib.sha256(content.encode()).hexdigest() for file, content in mnist.FILES.items()}
    assert told == {"cache": name, "files": sums, "missed": 0}
    header, row = table(kubectl, "tfjob/tf-cache")
    assert (header[0], header[1], row[:2]) == ("NAME", "STATE", ["tf-cache", "Succeeded"])
    assert name in row
    kubectl.run("delete", "tfjob/tf-cache")
    kubectl.wait("delete", f"cachebackend/{name}")
    kubectl.wait("delete", f"sampleset/{name}", f"pvc/{name}")


def test_jobs_share_a_cache_find_each_other_and_give_it_back(training: Training) -> None:
    kubectl = training.kubectl
    kubectl.apply(training.shared_cache(5), training.tensorflow("tf"), training.torch("torch"))
    kubectl.wait("jsonpath={.status.usedNum}=2", "cachebackend/mnist")
    training.until_succeeded("pytorchjob/torch")
    assert kubectl.run("logs", "torch-master-0").strip() == "[0, 1]"
    training.until_succeeded("tfjob/tf")
    config = training.told("tf-worker-0")
    assert config["task"] == {"type": "worker", "index": 0}
    assert [len(names) for names in config["cluster"].values()] == [1, 2]
    wait_until(lambda: kubectl.items("pods", "-l", "replica-type=ps") == [], PATIENCE, "the server runs on")
    kubectl.wait("delete", "cachebackend/mnist")
    training.until_succeeded("tfjob/tf")
    # Pods keep their claim, ended or not, and with it the data set of the cache.
    kubectl.run("delete", "tfjob/tf", "pytorchjob/torch")
    kubectl.wait("delete", "sampleset/mnist", "pvc/mnist")


def test_a_running_job_that_is_deleted_gives_back_the_cache_that_it_shares(training: Training) -> None:
    """The original counted it as a user for ever."""
    kubectl = training.kubectl
    kubectl.apply(training.shared_cache(3600), training.tensorflow("endless", mnist.ENDLESS))
    kubectl.wait("condition=Running", "tfjob/endless")
    kubectl.wait("jsonpath={.status.usedNum}=1", "cachebackend/mnist")
    kubectl.run("delete", "tfjob/endless")
    kubectl.wait("jsonpath={.status.usedNum}=0", "cachebackend/mnist")
    assert kubectl.get("cachebackend/mnist")["status"]["cacheStatus"] == "PVCCreated"
    kubectl.run("delete", "cachebackend/mnist")
    kubectl.wait("delete", "sampleset/mnist", "pvc/mnist")


def test_processes_of_pytorch_itself_learn_together_from_a_cache(training: Training, torchbox: str) -> None:
    job = replace(training, image=torchbox).torch("learns", mnist.DISTRIBUTED)
    training.kubectl.apply(training.shared_cache(5), job)
    training.until_succeeded("pytorchjob/learns")
    for rank, pod in enumerate(("learns-master-0", "learns-worker-0")):
        assert training.told(pod) == {"rank": rank, "world": 2, "same": True}
