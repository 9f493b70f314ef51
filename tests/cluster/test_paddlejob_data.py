"""PaddleJobs on a prepared SampleSet: they wait for it, and each worker runs where its part of the data is cached."""

from collections.abc import Iterator

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from support import preparedsets
from support.manifests import changed, circulating
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role
from support.workloads import TESTBOX

CACHED_ON = {"imagenet-runtime-0": "node-2", "imagenet-runtime-1": "node-1"}
REFERENCE = {"name": "imagenet", "mountPath": "/mnt/imagenet"}


@pytest.fixture
def cached(kube: Cluster, namespace: Kubectl) -> Iterator[None]:
    """Label the nodes as the cache of two partitions does."""
    kubectl = Kubectl.of(kube)
    preparedsets.label(kubectl, namespace.namespace, "imagenet", CACHED_ON)
    yield
    preparedsets.unlabel(kubectl, namespace.namespace, "imagenet")


@pytest.fixture
def claim(namespace: Kubectl) -> Iterator[None]:
    volume = f"imagenet-{namespace.namespace}"
    namespace.apply(*preparedsets.storage("imagenet", volume))
    yield
    namespace.run("delete", "pv", volume, "--wait=false")


def with_image(job: Manifest, image: str) -> Manifest:
    containers = "spec.{}.template.spec.containers.0.image"
    return changed(job, {containers.format(name): image for name in ("ps", "worker")})


def test_a_job_waits_for_data_that_there_is_not_yet_and_not_for_ever(jobs: Jobs) -> None:
    jobs.submit(
        paddle_job("patient", worker=role(1, *ENDLESS), sampleSetRef=REFERENCE),
        paddle_job("impatient", worker=role(1, *ENDLESS), sampleSetRef={**REFERENCE, "timeoutSeconds": 1}),
    )
    jobs.until("Failed", "impatient")
    lacking = f"there is no SampleSet imagenet in namespace {jobs.kubectl.namespace}"
    assert jobs.why("impatient", "Failed").startswith(f"SampleSetTimeout: {lacking}")
    assert jobs.why("patient", "DataReady").startswith(f"WaitingForData: {lacking}")
    assert (jobs.phases()["patient"], jobs.pods()) == ("Pending", {})


@pytest.mark.usefixtures("cached", "claim")
def test_jobs_wait_for_their_data_and_run_next_to_it(namespace: Kubectl, jobs: Jobs) -> None:
    demo = with_image(circulating("PaddleJob/ps-demo"), TESTBOX)
    jobs.submit(
        demo,
        paddle_job("train", ps=role(1, *ENDLESS), worker=role(3, *ENDLESS), sampleSetRef=REFERENCE),
    )
    namespace.apply(changed(circulating("SampleSet/imagenet"), {"spec.partitions": 2}))
    preparedsets.stand(namespace, "imagenet", "Syncing")
    waits = "WaitingForData: SampleSet imagenet is not Ready yet, it is Syncing"
    jobs.eventually(lambda: jobs.why("train", "DataReady") == waits, "the wait is not told of")
    assert (jobs.why("train"), jobs.pods()) == (waits, {})
    preparedsets.stand(namespace, "imagenet", "Ready")
    jobs.until("Running", "ps-demo", "train")
    nodes = {name: pod["spec"]["nodeName"] for name, pod in jobs.pods().items()}
    assert nodes["ps-demo-worker-0"] == nodes["train-worker-0"] == "node-2"
    assert nodes["train-worker-1"] == "node-1"
    assert "train-worker-2" in nodes
    namespace.execute("train-worker-0", "touch", "/mnt/imagenet/train_list.txt")
    assert namespace.execute("ps-demo-worker-0", "ls", "/mnt/imagenet") == "train_list.txt\n"
    table = namespace.run("get", "paddlejob", "ps-demo").splitlines()
    assert table[0] == "NAME      STATUS    MODE   AGE"
    assert table[1].startswith("ps-demo   Running   PS     ")
