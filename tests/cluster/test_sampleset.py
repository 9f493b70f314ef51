"""A SampleSet from its Secret to its end, with all its parts: manager, runtime servers, node plugin, JuiceFS, a job."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.api.names import sampleset_label, sampleset_node_label
from support import imagenet
from support.csivolumes import SYSTEM, Volume
from support.imagenet import NAME, PLACE, Watched
from support.managerprogram import ManagerProgram
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

MANY = 60
FILES = imagenet.files(300)
# As servers count them: a directory after the other, sorted.
IN_ORDER = sorted(FILES)


@pytest.fixture(scope="module")
def manager(
    kube: Cluster, system: Kubectl, operator_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerProgram]:
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    words = ("--controllers=sampleset,paddlejob", f"--runtime-image={operator_image}", f"--init-image={operator_image}")
    begun = ManagerProgram(kube.paths.kubeconfig, system.namespace, log, *words)
    begun.start()
    yield begun
    begun.kill()
    sys.stdout.write(f"--- {log.name}\n{log.read_text()}\n")


@pytest.fixture(scope="module")
def data(system: Kubectl, redis: Node, operator_image: str, manager: ManagerProgram) -> Iterator[Watched]:
    """Have the set, of one partition as the documents have it, ready; and at last none."""
    assert manager.alive
    system.apply(*imagenet.store(operator_image))
    system.wait("condition=Ready", "pod/store")
    source = imagenet.fill(system, FILES)
    system.apply(imagenet.volume_secret(redis.spec.address), imagenet.sample_set(source))
    found = Watched(system)
    found.until_ready(1)
    yield found
    system.run("delete", "pdj,sampleset", "--all", "--wait", "--ignore-not-found")


@pytest.fixture(scope="module")
def shared_out(data: Watched) -> Watched:
    """Have three partitions, on as many nodes."""
    data.scale(3)
    data.until_ready(3)
    return data


@pytest.fixture(scope="module")
def job(shared_out: Watched) -> Jobs:
    """Have a job with as many workers."""
    jobs = Jobs(shared_out.kubectl)
    reference = {"name": NAME, "mountPath": PLACE}
    jobs.submit(paddle_job("train", worker=role(3, *ENDLESS), sampleSetRef=reference))
    jobs.until("Running", "train")
    return jobs


def volume_of(data: Watched) -> str:
    return str(data.kubectl.get(f"pvc/{NAME}")["spec"]["volumeName"])


def test_the_documents_set_becomes_ready_and_its_table_is_theirs(data: Watched) -> None:
    header, row = data.kubectl.run("get", "sampleset").splitlines()
    columns = ["NAME", "TOTAL SIZE", "CACHED SIZE", "AVAIL SPACE", "RUNTIME", "PHASE", "AGE"]
    told = dict(zip(columns, re.split(" {2,}", row.strip()), strict=True))
    assert re.split(" {2,}", header.strip()) == columns
    assert (told["NAME"], told["RUNTIME"], told["PHASE"]) == (NAME, "1/1", "Ready")
    assert {told[size].split()[1] for size in columns[1:4]} <= {"KiB", "MiB", "GiB"}
    conditions = {one["type"]: one["status"] for one in data.status["conditions"]}
    assert conditions == dict.fromkeys(("Ready", "Synced", "Warm"), "True")
    content = sum(map(len, FILES.values()))
    figures = ("cachedBytes", "totalBytes")
    # Figures follow a few seconds later.
    data.eventually(
        lambda: all(data.status["cacheStatus"][figure] >= content for figure in figures), "the figures are too small"
    )


def test_each_node_caches_its_share(kube: Cluster, shared_out: Watched) -> None:
    volume = volume_of(shared_out)
    nodes = shared_out.cached_on()
    assert sorted(nodes) == ["node-1", "node-2", "node-3"]
    shares = [sorted(len(FILES[name]) for name in IN_ORDER[number::3]) for number in range(3)]
    sizes = [imagenet.cached_sizes(kube.node(node), volume) for node in nodes]
    # The first server has copied the source: what it wrote is cached, too.
    assert sizes[0] == sorted(map(len, FILES.values()))
    assert sizes[1:] == shares[1:]
    for number, node in enumerate(nodes):
        labels = shared_out.kubectl.get(f"node/{node}")["metadata"]["labels"]
        ours = [labels[sampleset_node_label(SYSTEM, NAME)], labels[sampleset_label(NAME)]]
        assert ours == [f"{NAME}-runtime-{number}"] * 2


def test_a_worker_runs_where_its_share_is_and_reads_it_from_the_cache(shared_out: Watched, job: Jobs) -> None:
    pods = job.pods("train")
    placed = [pods[f"train-worker-{number}"]["spec"]["nodeName"] for number in range(3)]
    assert placed == shared_out.cached_on()
    expected = imagenet.checksums(FILES)
    for number in range(3):
        worker, share = f"train-worker-{number}", IN_ORDER[number::3]
        before = imagenet.misses(shared_out.kubectl, worker)
        assert shared_out.read(worker, *share) == {name: expected[name] for name in share}
        assert imagenet.misses(shared_out.kubectl, worker) == before
        assert shared_out.read(worker) == expected


def test_no_key_is_told_anywhere(manager: ManagerProgram, shared_out: Watched) -> None:
    kubectl = shared_out.kubectl
    logs = [kubectl.run("logs", f"{NAME}-runtime-{number}", "--tail=-1") for number in range(3)]
    told = [manager.log.read_text(), *logs, kubectl.run("get", "events,sampleset,statefulsets", "-o", "yaml")]
    assert all(len(words) > 0 for words in told)
    assert [words for words in told if any(key in words for key in imagenet.KEYS.values())] == []


def test_a_server_and_a_client_that_die_come_back_and_no_byte_is_wrong(
    kube: Cluster, shared_out: Watched, job: Jobs
) -> None:
    assert job.phases() == {"train": "Running"}
    nodes, expected = shared_out.cached_on(), imagenet.checksums(FILES)
    server = f"pod/{NAME}-runtime-1"
    before = shared_out.kubectl.get(server)["metadata"]["uid"]
    shared_out.kubectl.run("delete", server, "--grace-period=0", "--force")
    wait_until(lambda: shared_out.kubectl.get(server)["metadata"]["uid"] != before, MANY, "no server comes back")
    shared_out.eventually(lambda: not shared_out.is_ready(3), "the set does not notice")
    shared_out.until_ready(3)
    assert shared_out.cached_on() == nodes
    node = kube.node(nodes[2])
    volume = Volume(shared_out.kubectl, volume_of(shared_out), 0)
    (client,) = volume.clients(node)
    os.kill(client, signal.SIGKILL)
    wait_until(lambda: shared_out.read("train-worker-2") == expected, MANY, "the worker's data does not come back")
    shared_out.until_ready(3)
    assert shared_out.read("train-worker-1") == expected


def test_the_end_leaves_nothing_but_the_data(kube: Cluster, redis: Node, shared_out: Watched, job: Jobs) -> None:
    kubectl, volume = shared_out.kubectl, volume_of(shared_out)
    before = imagenet.stored(redis)
    kubectl.run("delete", f"sampleset/{NAME}", "--wait=false")
    in_use = "it is being deleted, and waits for PaddleJob train to end"
    shared_out.eventually(
        lambda: in_use in [one["message"] for one in shared_out.status["conditions"]], "the wait is not told of"
    )
    job.delete("train")
    kubectl.wait("delete", f"sampleset/{NAME}")
    assert [found["metadata"]["name"] for found in kubectl.items("pv")] == []
    left = [found["metadata"]["name"] for found in kubectl.items("pods,pvc,statefulsets,services")]
    assert [name for name in left if name.startswith((NAME, "train"))] == []
    keys = {sampleset_node_label(SYSTEM, NAME), sampleset_label(NAME)}
    assert [node for node in kubectl.items("nodes") if keys & set(node["metadata"]["labels"])] == []
    for node in kube.nodes:
        wait_until(partial(Volume(kubectl, volume, 0).is_gone_from, node), MANY, f"something is left on {node.name}")
        assert imagenet.cached_sizes(node, volume) == []
    assert imagenet.stored(redis) == before
