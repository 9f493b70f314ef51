"""A SampleSet from its Secret to its end, with all its parts: manager, runtime servers, node plugin, JuiceFS, a job."""

import base64
import os
import random
import re
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.api.names import LABEL_SAMPLESET_NAMESPACE, sampleset_label, sampleset_node_label
from paddle_operator.desired.sampleset.servers import PORT
from support import imagenet, leaks, readers, witness
from support.csivolumes import SYSTEM, Volume
from support.imagenet import FILES, NAME, Watched
from support.leaks import CommandLines
from support.managerprogram import ManagerProgram
from support.manifests import ABSENT, changed, circulating
from support.objectlog import logged
from support.paddlejobs import Jobs
from support.readers import Readers
from support.witness import Witness

MANY = 60
GOING = "going"
# To empty caches, two minutes at most, and for Kubernetes to let go of the rest.
LONGEST_END = 240
# As servers count them: a directory after the other, sorted.
IN_ORDER = sorted(FILES)
SHARES = [sorted(len(FILES[name]) for name in IN_ORDER[number::3]) for number in range(3)]
PLANTED = [*imagenet.KEYS.values(), imagenet.PASSWORD]
# A new one each time finds more; KILL_SEED repeats one, as far as time can be repeated.
SEED = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
LONGEST_PAUSE = 3.0
# The status is never older than that.
FRESH = 30.0


@pytest.fixture(scope="module")
def seen() -> CommandLines:
    """Have what was on command lines while the volume was made, and filled."""
    return CommandLines()


@pytest.fixture(scope="module")
def data(
    system: Kubectl, redis: Node, operator_image: str, manager: ManagerProgram, seen: CommandLines
) -> Iterator[Watched]:
    """Have the set, of one partition as the documents have it, ready; and at last none."""
    assert manager.alive
    system.apply(*imagenet.store(operator_image))
    system.rolled_out("deployment/store")
    source = imagenet.fill(system, FILES)
    found = Watched(system)
    with seen:
        system.apply(imagenet.volume_secret(redis.spec.address), imagenet.sample_set(source))
        found.until_ready(1)
    yield found
    system.run("delete", "pdj,sampleset", "--all", "--wait", "--ignore-not-found")
    system.run("delete", "deployment,service,secret", "store", "--ignore-not-found")


@pytest.fixture(scope="module")
def shared_out(data: Watched) -> Watched:
    """Have three partitions, on as many nodes."""
    data.scale(3)
    data.until_ready(3)
    return data


@pytest.fixture(scope="module")
def job(shared_out: Watched) -> Jobs:
    """Have a job with as many workers, which read."""
    jobs = Jobs(shared_out.kubectl)
    jobs.submit(readers.job(len(FILES)))
    jobs.until("Running", readers.NAME)
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


def another(name: str, namespace: str, **spec: object) -> Manifest:
    """Give a second set, which finds the data of the first in the volume."""
    made = changed(circulating(f"SampleSet/{NAME}"), {"metadata": {"name": name, "namespace": namespace}})
    return changed(made, {"spec.source": ABSENT, "spec.noSync": True} | {f"spec.{key}": spec[key] for key in spec})


def test_a_server_that_moves_leaves_no_block_behind_and_every_other_set_alone(kube: Cluster, data: Watched) -> None:
    kubectl, contents, (home,) = data.kubectl, sorted(map(len, FILES.values())), data.cached_on()

    def placed(operator: str) -> Manifest:
        place = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": operator, "values": [home]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [place]}}
        return another("moving", SYSTEM, nodeAffinity=required)

    def has_moved() -> bool:
        status = kubectl.get("sampleset/moving")["status"]
        nodes = [found["node"] for found in status.get("nodes", [])]
        return bool(status["phase"] == "Ready" and nodes not in ([], [home]) and not status.get("leftNodes"))

    kubectl.apply(placed("In"))
    kubectl.wait("jsonpath={.status.phase}=Ready", "sampleset/moving")
    volume = str(kubectl.get("pvc/moving")["spec"]["volumeName"])
    assert imagenet.cached_sizes(kube.node(home), volume) == contents
    kubectl.apply(placed("NotIn"))
    wait_until(has_moved, 2 * MANY, "the server has not moved, or what it left is not emptied")
    assert imagenet.cached_sizes(kube.node(home), volume) == []
    assert imagenet.cached_sizes(kube.node(home), volume_of(data)) == contents
    assert [pod for pod in kubectl.items("pods") if pod["metadata"]["name"].startswith("moving-clear-")] == []
    (now,) = (found["node"] for found in kubectl.get("sampleset/moving")["status"]["nodes"])
    assert imagenet.cached_sizes(kube.node(now), volume) == contents
    kubectl.run("delete", "sampleset/moving", "--wait")
    assert imagenet.cached_sizes(kube.node(now), volume) == []


def test_each_node_caches_its_share(kube: Cluster, shared_out: Watched) -> None:
    volume = volume_of(shared_out)
    nodes = shared_out.cached_on()
    assert sorted(nodes) == ["node-1", "node-2", "node-3"]
    sizes = [imagenet.cached_sizes(kube.node(node), volume) for node in nodes]
    # The first server has copied the source: what it wrote is cached, too.
    assert sizes[0] == sorted(map(len, FILES.values()))
    assert sizes[1:] == SHARES[1:]
    for number, node in enumerate(nodes):
        labels = shared_out.kubectl.get(f"node/{node}")["metadata"]["labels"]
        ours = [labels[sampleset_node_label(SYSTEM, NAME)], labels[sampleset_label(NAME)]]
        assert ours == [f"{NAME}-runtime-{number}"] * 2


def test_a_worker_runs_where_its_share_is_and_its_epoch_reads_nothing_from_the_object_store(
    kube: Cluster, redis: Node, shared_out: Watched, job: Jobs
) -> None:
    pods = job.pods(readers.NAME)
    placed = [pods[f"train-worker-{number}"]["spec"]["nodeName"] for number in range(3)]
    assert placed == shared_out.cached_on()
    with logged(redis) as log:
        Readers(kube).until_each_has_read()
        assert log.reads() == []
        # What another node has in its cache is read from the store, and the log knows of it.
        expected, others = imagenet.checksums(FILES), IN_ORDER[2::3]
        assert shared_out.read("train-worker-1", *others) == {name: expected[name] for name in others}
        assert len(log.reads()) == len(others)


def test_no_key_is_told_anywhere_but_in_secrets(
    kube: Cluster, manager: ManagerProgram, shared_out: Watched, seen: CommandLines
) -> None:
    kubectl = shared_out.kubectl
    token = base64.b64decode(kubectl.get(f"secret/{NAME}-runtime")["data"]["token"]).decode()
    planted = [*PLANTED, token]
    for word in ("juicefs --no-agent format", "juicefs --no-agent sync", "juicefs --no-agent mount"):
        assert any(word in line for line in seen.seen), word
    assert [line for line in seen.seen if leaks.tells(line, planted)] == []
    assert not leaks.tells(manager.log.read_text(), planted)
    assert leaks.logs_with(kube, planted) == []
    values = leaks.stored(kube)
    secret_ones = [key for key, value in values.items() if leaks.tells(value, planted)]
    assert {key.split("/")[2] for key in secret_ones} == {"secrets"}
    assert f"/registry/secrets/{SYSTEM}/{NAME}" in secret_ones
    for number in range(3):
        server = f"http://{kubectl.get(f'pod/{NAME}-runtime-{number}')['status']['podIP']}:{PORT}"
        assert [leaks.answer(f"{server}{path}")[0] for path in ("/v1/operations", "/v1/status", "/healthz")] == [
            401,
            401,
            200,
        ]
        told = [leaks.answer(f"{server}{path}", token) for path in ("/v1/operations", "/v1/status", "/readyz", "/none")]
        assert [status for status, _ in told] == [200, 200, 200, 404]
        assert [text for _, text in told if leaks.tells(text, planted)] == []


def test_whatever_is_killed_no_byte_is_wrong_and_the_status_does_not_lie(
    kube: Cluster, manager: ManagerProgram, redis: Node, shared_out: Watched, job: Jobs
) -> None:
    kubectl, volume, chance = shared_out.kubectl, volume_of(shared_out), random.Random(SEED)  # noqa: S311 to be repeated
    others = [node for node in kube.nodes if node.name != redis.name]
    kills: dict[str, Callable[[], None]] = {
        "a server": lambda: kill_pod(kubectl, f"{NAME}-runtime-{chance.randrange(3)}"),
        "a plugin": lambda: kill_pod(kubectl, plugin_on(kubectl, chance.choice(kube.nodes))),
        "a client": lambda: kill_client(Volume(kubectl, volume, 0), chance.choice(kube.nodes)),
        "a node": lambda: restart(chance.choice(others)),
        "Redis": lambda: redis.control.kill("redis"),
        "the manager": manager.restart,
    }
    reading, memory = Readers(kube), witness.Memory()

    def lies() -> set[str]:
        return witness.untruths(shared_out.status, witness.caches(kube, volume), SHARES, memory)

    with Witness(lies) as watching:
        for name in chance.sample(sorted(kills), len(kills)):
            sys.stdout.write(f"KILL_SEED={SEED}: {name}\n")
            kills[name]()
            watching.disturb()
            time.sleep(chance.uniform(0.0, LONGEST_PAUSE))  # this is no waiting for anything: the next one dies then
        kube.wait_ready()
        shared_out.until_ready(3)
        job.until("Running", readers.NAME)
        reading.until_each_has_read()
        shared_out.eventually(lambda: not lies(), "the status is not true")
    sys.stdout.write(f"{watching.looks} looks, longest untrue: {watching.longest}\n")
    assert reading.wrong() == []
    late = {words: seconds for words, seconds in watching.longest.items() if seconds > allowed(words)}
    assert late == {}
    assert sorted(shared_out.cached_on()) == [node.name for node in kube.nodes]


def allowed(untruth: str) -> float:
    """Give for how long it may be claimed after the last kill; of a figure, the witness waits for a part of it."""
    return FRESH - witness.LATELY if witness.OTHER_SIZE in untruth else FRESH


def kill_pod(kubectl: Kubectl, name: str) -> None:
    kubectl.run("delete", f"pod/{name}", "--grace-period=0", "--force", "--ignore-not-found")


def plugin_on(kubectl: Kubectl, node: Node) -> str:
    selectors = ("--selector=app.kubernetes.io/name=paddle-csi-node", f"--field-selector=spec.nodeName={node.name}")
    return str(kubectl.items("pods", *selectors)[0]["metadata"]["name"])


def kill_client(volume: Volume, node: Node) -> None:
    """End it where there is one: a node that starts may have none yet."""
    for client in volume.clients(node):
        os.kill(client, signal.SIGKILL)


def restart(node: Node) -> None:
    node.kill()
    node.start()


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


@pytest.fixture
def everywhere(kube: Cluster, operator_image: str, manager: ManagerProgram, tmp_path: Path) -> Iterator[ManagerProgram]:
    """Have one manager for all namespaces, in the place of the one for the documents'."""
    manager.kill()
    images = (f"--{of}-image={operator_image}" for of in ("runtime", "init"))
    words = ("--controllers=sampleset,samplejob,paddlejob", *images)
    begun = ManagerProgram(kube.paths.kubeconfig, "", tmp_path / "everywhere.log", *words)
    begun.start()
    yield begun
    begun.kill()
    sys.stdout.write(f"--- {begun.log.name}\n{begun.log.read_text()}\n")
    manager.start()


def test_a_namespace_that_is_deleted_goes_with_its_set_and_its_jobs_and_leaves_nothing_but_the_data(
    kube: Cluster, redis: Node, data: Watched, everywhere: ManagerProgram
) -> None:
    assert everywhere.alive
    kubectl = data.kubectl.within(GOING)
    kubectl.run("create", "namespace", GOING)
    kubectl.apply(imagenet.volume_secret(redis.spec.address), another(NAME, GOING, partitions=3))
    going = Watched(kubectl)
    going.until_ready(3)
    warm_up = changed(circulating("SampleJob/imagenet-warmup"), {"metadata.namespace": GOING})
    kubectl.apply(changed(warm_up, {"spec.schedule": "* * * * *"}))
    jobs = Jobs(kubectl)
    jobs.submit(readers.job(len(FILES)))
    jobs.until("Running", readers.NAME)
    volume, before = volume_of(going), imagenet.stored(redis)
    kubectl.run("delete", f"namespace/{GOING}", "--wait=false")
    kubectl.wait("delete", f"namespace/{GOING}", timeout=LONGEST_END)
    assert volume not in [found["metadata"]["name"] for found in kubectl.items("pv")]
    label = sampleset_node_label(GOING, NAME)
    assert [node for node in kubectl.items("nodes") if label in node["metadata"]["labels"]] == []
    selector = f"--selector={LABEL_SAMPLESET_NAMESPACE}={GOING}"
    assert kubectl.items("pods", "--all-namespaces", selector) == []
    for node in kube.nodes:
        wait_until(partial(Volume(kubectl, volume, 0).is_gone_from, node), MANY, f"something is left on {node.name}")
        assert imagenet.cached_sizes(node, volume) == []
    assert imagenet.stored(redis) == before
