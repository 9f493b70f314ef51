"""The end of SampleSets on the real loop: after the jobs, in any order, and never with what is not theirs."""

import pytest

from paddle_operator.api.manifest import Key, Manifest, labels_of, uid_of
from paddle_operator.engines.operations import Operation
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.sampleloop import SET, controllers, labelled, left, status, why
from support.samplesets import sample_set, secret

from .conftest import Managing, is_ready


def paddle_job(phase: str, running: int) -> Manifest:
    template = {"spec": {"containers": [{"name": "train", "image": "demo:v1"}]}}
    return {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "sampleSetRef": {"name": "imagenet", "mountPath": "/mnt/imagenet"},
            "worker": {"replicas": 1, "template": template},
        },
        "status": {"phase": phase, "worker": {"running": running}},
    }


def sample_job(phase: str) -> Manifest:
    return {
        "metadata": {"name": "warm", "namespace": "default"},
        "spec": {"type": "warmup", "sampleSetRef": {"name": "imagenet"}},
        "status": {"phase": phase},
    }


async def test_a_set_that_is_deleted_waits_for_the_jobs_that_use_it(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """The original pulled the data away under running jobs."""
    await is_ready(api, managing)
    api.put("paddlejobs", paddle_job("Running", 1))
    api.put("samplejobs", sample_job("Running"))
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: why(api).endswith("waits for PaddleJob train, SampleJob warm to end"))
        assert (len(labelled(api)), len(api.names("pods")), status(api)["phase"]) == (1, 1, "Ready")
        api.put("samplejobs", sample_job("Succeeded"))
        await eventually(lambda: why(api, "InUse").endswith("waits for PaddleJob train to end"))
        api.put("paddlejobs", paddle_job("Completed", 0))
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    orders = [found.type for found in cluster.runtime(0).spool.operations.values()]
    assert orders == ["sync", "warmup", "clear"]


async def test_caches_are_emptied_only_when_no_pod_reads_any_more(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}]
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "demo:v1"}], "volumes": volumes}
    reader: Manifest = {"metadata": {"name": "reader", "namespace": "default"}, "spec": spec}
    api.put("pods", {**reader, "status": {"phase": "Running"}})
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: why(api, "InUse").endswith("waits for Pod reader to end"))
        assert cluster.runtime(0).spool.cached > 0
        api.put("pods", {**reader, "status": {"phase": "Succeeded"}})
        await eventually(lambda: api.names("samplesets") == [])
    assert cluster.runtime(0).spool.cached == 0


@pytest.mark.parametrize("busy_with", ["sync", "warmup"])
async def test_a_set_that_is_deleted_while_it_is_filled_leaves_its_caches_empty(
    api: Api, managing: Managing, cluster: CacheCluster, busy_with: str
) -> None:
    del cluster.endings[busy_with]
    api.put("secrets", secret())
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: busy_with in [found.type for found in operations(cluster)])
        cluster.runtime(0).spool.cached = 50
        api.remove("samplesets", SET)
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    *_, busy, clear = operations(cluster)
    assert (busy.type, busy.state, clear.type, clear.state) == (busy_with, "Cancelled", "clear", "Succeeded")
    assert cluster.runtime(0).spool.cached == 0


def operations(cluster: CacheCluster) -> list[Operation]:
    server = cluster.runtimes.get(Key("default", "imagenet-runtime-0"))
    return list(server.spool.operations.values()) if server else []


async def test_a_job_that_only_waits_for_the_data_does_not_keep_a_set_from_ending(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    api.put("paddlejobs", paddle_job("Pending", 0))
    api.put("samplejobs", sample_job(""))
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    assert cluster.runtime(0).spool.cached == 0


ORDERS: dict[str, list[tuple[str, Key]]] = {
    "the Secret first": [("secrets", SET), ("samplesets", SET)],
    "the claim first": [("persistentvolumeclaims", SET), ("samplesets", SET)],
    "the set first": [("samplesets", SET), ("persistentvolumeclaims", SET), ("secrets", SET)],
    "the servers first": [("statefulsets", Key("default", "imagenet-runtime")), ("samplesets", SET)],
    "the token first": [("secrets", Key("default", "imagenet-runtime")), ("samplesets", SET)],
    "the namespace": [("namespaces", Key("", "default"))],
    "a job first": [("paddlejobs", Key("default", "train")), ("samplesets", SET)],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
async def test_a_set_ends_in_whichever_order_things_are_deleted(
    api: Api, managing: Managing, cluster: CacheCluster, order: list[tuple[str, Key]]
) -> None:
    await is_ready(api, managing)
    api.put("paddlejobs", paddle_job("Running", 1))
    async with managing(controllers()):
        for plural, key in order:
            api.remove(plural, key)
        if ("samplesets", SET) in order:
            api.put("paddlejobs", paddle_job("Completed", 0))
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    assert cluster.cache("node-1").cached == 0


FOREIGN: dict[str, tuple[str, Manifest]] = {
    "a claim": (
        "persistentvolumeclaims",
        {"metadata": {"name": "imagenet"}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "theirs",
         "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}},
    ),
    "a service": (
        "services",
        {"metadata": {"name": "imagenet-runtime-service"}, "spec": {"ports": [{"port": 80}]}},
    ),
    "a StatefulSet": (
        "statefulsets",
        {"metadata": {"name": "imagenet-runtime"}, "spec": {"replicas": 0, "serviceName": "theirs", "selector":
         {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec":
          {"containers": [{"name": "theirs", "image": "theirs"}]}}}},
    ),
    "a Secret": ("secrets", {"metadata": {"name": "imagenet-runtime"}, "data": {"token": "dGhlaXJz"}}),
}  # fmt: skip


@pytest.mark.parametrize(("plural", "theirs"), FOREIGN.values(), ids=FOREIGN.keys())
async def test_what_is_not_ours_is_told_of_and_neither_taken_nor_deleted(
    api: Api, managing: Managing, cluster: CacheCluster, plural: str, theirs: Manifest
) -> None:
    """The original took it for its own, also when the set was deleted."""
    theirs = {**theirs, "metadata": {**theirs["metadata"], "namespace": "default", "labels": LABELS}}
    before = api.put(plural, theirs)
    api.put("secrets", secret())
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: why(api, "Stalled").startswith("NameTaken: ") and "is not ours" in why(api, "Stalled"))
        assert not cluster.runtimes or plural == "services"
        api.remove("samplesets", SET)
        await eventually(lambda: api.names("samplesets") == [])
    after = api.get(plural, "default", theirs["metadata"]["name"])
    assert (uid_of(after), after.get("spec"), after.get("data")) == (
        uid_of(before), before.get("spec"), before.get("data")
    )  # fmt: skip


LABELS = {"paddlepaddle.org/juicefs-imagenet": "true", "batch.paddlepaddle.org/sampleset": "imagenet"}


def made_by_the_original(namespace: str = "default") -> list[tuple[str, Manifest]]:
    about: Manifest = {
        "labels": {"paddlepaddle.org/juicefs-imagenet": "true"},
        "annotations": {"CreatedBy": "paddle-operator"},
    }
    within = {**about, "namespace": namespace}
    access = {"accessModes": ["ReadWriteMany"], "storageClassName": "paddle-operator"}
    csi = {"driver": "csi.juicefs.com", "volumeHandle": f"{namespace}-imagenet"}
    volume = {**access, "csi": csi, "capacity": {"storage": "10Pi"}}
    labels = {"matchLabels": {"name": "imagenet-runtime"}}
    pods = {
        "metadata": {"labels": labels["matchLabels"]},
        "spec": {"containers": [{"name": "main", "image": "demo:v1"}]},
    }
    servers = {"replicas": 0, "serviceName": "imagenet-runtime-service", "selector": labels, "template": pods}
    return [
        ("persistentvolumes", {
            "metadata": {**about, "name": "imagenet"},
            "spec": {**volume, "claimRef": {"namespace": namespace, "name": "imagenet"}},
        }),
        ("persistentvolumeclaims", {
            "metadata": {**within, "name": "imagenet"},
            "spec": {**access, "volumeName": "imagenet", "resources": {"requests": {"storage": "10Pi"}}},
        }),
        ("statefulsets", {"metadata": {**within, "name": "imagenet-runtime"}, "spec": servers}),
        ("services", {"metadata": {**within, "name": "imagenet-runtime-service"}, "spec": {"ports": [{"port": 7716}]}}),
    ]  # fmt: skip


async def test_a_set_of_the_original_operator_ends_with_all_that_was_made_for_it(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    theirs = sample_set()
    theirs["metadata"]["finalizers"] = ["paddlepaddle.org/sampleset-imagenet"]
    api.put("samplesets", {**theirs, "status": {"phase": "Ready"}})
    for plural, manifest in made_by_the_original():
        api.put(plural, manifest)
    label = {"paddlepaddle.org/juicefs-imagenet": "imagenet-runtime-0"}
    api.put("nodes", {"metadata": {"name": "node-1", "labels": label}})
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    assert label.items().isdisjoint(labels_of(api.get("nodes", "", "node-1")).items())
    assert not cluster.runtimes


async def test_a_volume_that_the_original_operator_made_for_another_namespace_stays(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """It has the name of the set alone, and so had all that are called so."""
    await is_ready(api, managing)
    (plural, volume), *_ = made_by_the_original("other")
    api.put(plural, volume)
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: api.names("samplesets") == [])
    assert left(api) == ["persistentvolumes/imagenet"]
    assert cluster.runtimes
