"""SampleSets on the real loop: the API server, the manager, the cluster and the runtime servers each do their part."""

import datetime as dt
import logging
from collections.abc import Callable

import pytest

from paddle_operator.api.manifest import Key, Manifest, labels_of, uid_of
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.desired.sampleset import abandoned, plan
from paddle_operator.engines.operations import OperationState, SyncOrder
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.sampleloop import KINDS, SET, controllers, labelled, left, rests, stands, status, why
from support.samplesets import SOURCE, sample_set, secret

from .conftest import Managing, is_ready


async def test_a_set_is_bound_served_copied_warmed_up_and_ready(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    api.put("secrets", secret(**{"access-key": "mine", "secret-key": "hush"}))
    api.put("samplesets", sample_set(partitions=2))
    async with managing(controllers()) as manager:
        await eventually(stands(api, "Ready"))
        await eventually(lambda: status(api)["cacheStatus"].get("cachedBytes") == 200 and rests(manager))
    first, second = cluster.runtime(0), cluster.runtime(1)
    assert first.credentials == [{"accessKey": "mine", "secretKey": "hush"}]
    assert [found.type for found in first.spool.operations.values()] == ["sync", "warmup"]
    assert [found.type for found in second.spool.operations.values()] == ["warmup"]
    assert labelled(api) == {"node-1": "imagenet-runtime-0", "node-2": "imagenet-runtime-1"}
    assert labels_of(api.get("nodes", "", "node-1"))["paddlepaddle.org/juicefs-imagenet"] == "imagenet-runtime-0"
    found = status(api)
    assert found["runtimeStatus"] == {"runtimeReady": "2/2", "specReplicas": 2, "readyReplicas": 2}
    assert found["cacheStatus"] == {
        "totalSize": "300 B",
        "totalFiles": "3",
        "cachedSize": "200 B",
        "diskSize": "2.0 KiB",
        "diskUsed": "200 B",
        "diskAvail": "1.8 KiB",
        "diskUsageRate": "10.0%",
        "totalBytes": 300,
        "fileCount": 3,
        "cachedBytes": 200,
        "diskSizeBytes": 2000,
        "diskUsedBytes": 200,
        "diskAvailBytes": 1800,
    }
    figures = {"cachedBytes": 100, "capacityBytes": 1000, "freeBytes": 900, "hits": 3, "misses": 1}
    assert found["nodes"] == [
        {"partition": number, "node": f"node-{number + 1}", "pod": f"imagenet-runtime-{number}", "ready": True,
         "warmedFor": 2, "cache": "first", **figures}
        for number in range(2)
    ]  # fmt: skip
    assert why(api) == "Ready: all 2 partitions are ready"
    assert why(api, "Synced") == "DoSyncJobSuccessfully: the source was copied"


async def test_a_second_pass_writes_nothing_and_orders_nothing(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()) as manager:
        await eventually(lambda: cluster.runtime(0).streams >= 2 and rests(manager))
    writes, operations = len(api.writes), dict(cluster.runtime(0).spool.operations)
    async with managing(controllers()) as manager:
        await eventually(lambda: cluster.runtime(0).streams >= 3 and cluster.runtime(1).streams >= 3)
        manager.loops[0].queue.add(SET)
        await eventually(lambda: rests(manager))
    assert [write for write in api.writes[writes:] if "events/" not in write] == []
    assert cluster.runtime(0).spool.operations == operations
    assert status(api)["phase"] == "Ready"


async def killed_after(api: Api, managing: Managing, number: int, otherwise: Callable[[], bool]) -> None:
    """Let a manager write so often, and kill it; or until it is done."""
    last = len(api.writes) + number
    async with managing(controllers()):
        await eventually(lambda: len(api.writes) >= last or otherwise())


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13])
async def test_killed_after_any_write_it_comes_to_the_same_end(
    api: Api, managing: Managing, cluster: CacheCluster, number: int
) -> None:
    api.put("secrets", secret())
    api.put("samplesets", sample_set(partitions=2))
    await killed_after(api, managing, number, stands(api, "Ready"))
    async with managing(controllers()):
        await eventually(stands(api, "Ready"))
    assert labelled(api) == {"node-1": "imagenet-runtime-0", "node-2": "imagenet-runtime-1"}
    assert [found.type for found in cluster.runtime(0).spool.operations.values()] == ["sync", "warmup"]
    api.remove("samplesets", SET)
    await killed_after(api, managing, number, lambda: api.names("samplesets") == [])
    async with managing(controllers()):
        await eventually(lambda: (api.names("samplesets"), left(api), api.names("secrets")) == ([], [], ["imagenet"]))


async def test_a_secret_that_comes_late_is_noticed(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    """The original waited for ever, and told nobody but in an event."""
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        there_is_none = (
            "ErrorSecretNotExist: there is no Secret imagenet in namespace default that the manager may read: create it"
        )
        await eventually(lambda: why(api).startswith(there_is_none))
        assert left(api) == []
        api.put("secrets", {**secret(), "data": {"name": "aW1hZ2VuZXQ="}})
        await eventually(lambda: "has no value for storage, metaurl, bucket" in why(api))
        api.put("secrets", secret())
        await eventually(stands(api, "Ready"))
    assert cluster.runtime(0).credentials == [None]


async def test_equally_named_sets_in_two_namespaces_never_meet(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """In the original they shared a volume, and deleting one tore down the other."""
    for namespace in ("default", "other"):
        api.put("namespaces", {"metadata": {"name": namespace}}) if namespace == "other" else None
        api.put("secrets", secret(namespace))
        api.put("samplesets", sample_set(namespace))
    async with managing(controllers()):
        await eventually(lambda: stands(api, "Ready")() and stands(api, "Ready", "other")())
        volumes = api.all("persistentvolumes")
        assert len({volume["spec"]["csi"]["volumeHandle"] for volume in volumes}) == 2
        assert {volume["spec"]["claimRef"]["namespace"] for volume in volumes} == {"default", "other"}
        assert cluster.runtime(0).spool is not cluster.runtime(0, namespace="other").spool
        api.remove("samplesets", SET)
        await eventually(lambda: not labelled(api) and len(api.names("persistentvolumes")) == 1)
        assert labelled(api, "other") == {"node-1": "imagenet-runtime-0"}
        shared = "paddlepaddle.org/juicefs-imagenet"
        await eventually(lambda: labels_of(api.get("nodes", "", "node-1")).get(shared) == "imagenet-runtime-0")
        assert (stands(api, "Ready", "other")(), api.names("pods")) == (True, ["imagenet-runtime-0"])


async def test_more_partitions_are_warmed_and_fewer_are_emptied_and_lose_their_labels(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        api.put("samplesets", sample_set(partitions=3))
        await eventually(lambda: stands(api, "Ready")() and len(status(api)["nodes"]) == 3)
        warmed = [found["warmedFor"] for found in status(api)["nodes"]]
        assert (warmed, len(labelled(api))) == ([3, 3, 3], 3)
        given_up = cluster.runtime(2).spool
        api.put("samplesets", sample_set(partitions=1))
        await eventually(lambda: labelled(api) == {"node-1": "imagenet-runtime-0"} and len(api.names("pods")) == 1)
        await eventually(stands(api, "Ready"))
        assert (given_up.cached, cluster.cleaned) == (0, [])
        assert [found.type for found in given_up.operations.values()][-1] == "clear"
        api.put("samplesets", sample_set(partitions=3))
        await eventually(lambda: stands(api, "Ready")() and len(status(api)["nodes"]) == 3)
        assert cluster.runtime(2).spool is given_up
        assert given_up.cached > 0


async def test_a_changed_secret_rolls_the_servers_and_keeps_the_caches(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SECRET_PAUSE_SECONDS", 0.02)
    await is_ready(api, managing)
    before, spool = uid_of(api.get("pods", "default", "imagenet-runtime-0")), cluster.runtime(0).spool
    done = dict(spool.operations)
    api.put("secrets", secret(metaurl="redis://elsewhere/0"))
    async with managing(controllers()):
        await eventually(lambda: before not in {uid_of(pod) for pod in api.all("pods")} and api.names("pods"))
        await eventually(stands(api, "Ready"))
    assert cluster.runtime(0).spool is spool
    assert spool.operations == done


async def test_another_image_is_rolled_out(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    done = dict(cluster.runtime(0).spool.operations)
    async with managing(controllers("registry.example.com/paddle-operator:2")):
        await eventually(lambda: [image(pod)[-1] for pod in api.all("pods")] == ["2"])
        await eventually(stands(api, "Ready"))
    assert cluster.runtime(0).spool.operations == done


def image(pod: Manifest) -> str:
    return str(pod["spec"]["containers"][0]["image"])


async def test_a_copy_that_fails_is_told_and_tried_again(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    """The original gave up until the spec was edited."""
    cluster.endings["sync"] = OperationState.FAILED
    api.put("secrets", secret())
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: "no such bucket" in why(api, "Synced"))
        cluster.endings["sync"] = OperationState.SUCCEEDED
        await eventually(stands(api, "Ready"))
    tried = [found.state for found in cluster.runtime(0).spool.operations.values() if found.type == "sync"]
    assert tried[-1] == "Succeeded"
    assert set(tried[:-1]) == {"Failed"}


@pytest.mark.parametrize(
    ("order", "kind", "phase"), [("sync", "Synced", "SyncFailed"), ("warmup", "Warm", "PartialReady")]
)
async def test_an_order_that_the_server_refuses_is_told_in_its_words(
    api: Api, managing: Managing, cluster: CacheCluster, order: str, kind: str, phase: str
) -> None:
    cluster.refusals[order] = "a source must be SCHEME://BUCKET.ENDPOINT/PREFIX"
    api.put("secrets", secret())
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: cluster.refusals[order] in why(api, kind) and stands(api, phase)())
        assert cluster.refusals[order] in why(api)
        found = status(api)
        assert (found["runtimeStatus"]["runtimeReady"], found["cacheStatus"].get("errorMassage")) == ("1/1", None)
        cluster.refusals.clear()
        await eventually(stands(api, "Ready"))


async def test_each_source_is_copied_into_its_directory_with_the_keys_of_its_own_secret(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    api.put("secrets", secret(**{"access-key": "mine", "secret-key": "hush"}))
    labels = {"uri": "s3://labels.example.com/v2/", "path": "labels", "secretRef": {"name": "labels-keys"}}
    api.put("samplesets", sample_set(source=None, sources=[{**SOURCE, "path": "train"}, labels]))
    async with managing(controllers()):
        await eventually(lambda: "labels-keys" in why(api) and why(api).startswith("ErrorSecretNotExist"))
        api.put("secrets", secret(name="labels-keys", **{"access-key": "theirs", "secret-key": "hush-hush"}))
        await eventually(stands(api, "Ready"))
    server = cluster.runtime(0)
    copies = [found for found in server.spool.orders.values() if isinstance(found, SyncOrder)]
    keys = [{"accessKey": "mine", "secretKey": "hush"}, {"accessKey": "theirs", "secretKey": "hush-hush"}]
    assert {found.destination: server.credentials[number] for number, found in enumerate(copies)} == {
        "train": keys[0],
        "labels": keys[1],
    }
    assert why(api, "Synced") == "DoSyncJobSuccessfully: all 2 sources were copied"


async def test_a_server_that_lost_the_keys_gets_them_again(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    del cluster.endings["sync"]
    api.put("secrets", secret(**{"access-key": "mine", "secret-key": "hush"}))
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(stands(api, "Syncing"))
        server = cluster.runtime(0)
        assert why(api, "Synced") == "Syncing: 0 files are copied"
        server.restart()
        await eventually(lambda: len(server.credentials) >= 2)
        server.end("sync-", OperationState.SUCCEEDED)
        await eventually(stands(api, "Ready"))
    assert server.credentials[-1] == {"accessKey": "mine", "secretKey": "hush"}
    assert len([found for found in server.spool.operations if found.startswith("sync-")]) == 1


async def test_a_set_whose_server_dies_says_so_and_comes_back_by_itself(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """A Ready set of the original stayed Ready without a server."""
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        cluster.unready(1)
        await eventually(lambda: stands(api, "PartialReady")() and why(api).startswith("RuntimeStarting: 1 of 2 "))
        assert labelled(api)["node-2"] == "imagenet-runtime-1"
        api.remove("pods", Key("default", "imagenet-runtime-1"))
        await eventually(stands(api, "Ready"))
    kinds = [found.type for found in cluster.runtime(1).spool.operations.values()]
    assert kinds == ["warmup"]


async def test_a_server_that_is_lost_or_rolled_comes_back_to_its_cache_though_other_nodes_are_free(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.add_nodes("node-0")
    before, spool = uid_of(api.get("pods", "default", "imagenet-runtime-0")), cluster.runtime(0).spool

    def is_another() -> bool:
        return stands(api, "Ready")() and [uid_of(pod) for pod in api.all("pods")] not in ([], [before])

    async with managing(controllers()):
        api.remove("pods", Key("default", "imagenet-runtime-0"))
        await eventually(is_another)
        before = uid_of(api.get("pods", "default", "imagenet-runtime-0"))
    async with managing(controllers("registry.example.com/paddle-operator:2")):
        await eventually(is_another)
        assert labelled(api) == {"node-1": "imagenet-runtime-0"}
    assert cluster.runtime(0).spool is spool
    assert [found.type for found in spool.operations.values()] == ["sync", "warmup"]
    assert cluster.cleaned == []


async def test_a_server_that_does_not_answer_is_not_told_as_ready_whatever_its_pod_says(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        await eventually(lambda: cluster.runtime(1).streams >= 2)
        await cluster.runtime(1).stop()
        await eventually(stands(api, "PartialReady"))
        assert why(api).startswith("RuntimeUnreachable: imagenet-runtime-1: ")
        assert status(api)["runtimeStatus"]["runtimeReady"] == "1/2"
        assert [node.get("ready", False) for node in status(api)["nodes"]] == [True, False]
        await cluster.runtime(1).start()
        await eventually(stands(api, "Ready"))
        assert status(api)["runtimeStatus"]["runtimeReady"] == "2/2"


async def test_a_cache_that_a_node_lost_is_warmed_up_again_and_not_told_as_warm_before(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.pop("warmup")
    async with managing(controllers()):
        await eventually(lambda: cluster.runtime(1).streams >= 2)
        cluster.runtime(1).spool.lose()
        cluster.runtime(1).change()
        await eventually(stands(api, "PartialReady"))
        assert why(api, "Warm") == "WarmingUp: 1 of 2 partitions are warmed up"
        await eventually(lambda: bool(cluster.runtime(1).spool.operations))
        cluster.runtime(1).end("warmup", OperationState.SUCCEEDED)
        await eventually(stands(api, "Ready"))


async def test_a_partition_whose_node_dies_moves_and_is_warmed_up_there(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        cluster.kill_node("node-2")
        api.remove("pods", Key("default", "imagenet-runtime-1"))
        await eventually(lambda: labelled(api) == {"node-1": "imagenet-runtime-0", "node-3": "imagenet-runtime-1"})
        await eventually(stands(api, "Ready"))
    assert [found.type for found in cluster.runtime(1).spool.operations.values()] == ["warmup"]
    assert status(api)["nodes"][1]["node"] == "node-3"


async def test_a_deleted_server_of_a_node_that_lives_is_waited_for(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    await is_ready(api, managing)
    cluster.dead.add("node-1")  # it says that it lives, and does nothing
    async with managing(controllers()) as manager:
        await eventually(lambda: rests(manager))
        api.remove("pods", Key("default", "imagenet-runtime-0"))
        await eventually(stands(api, "PartialReady"))
        await eventually(lambda: rests(manager))
        assert api.names("pods") == ["imagenet-runtime-0"]


async def test_a_deleted_claim_comes_back(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    before = uid_of(api.get("persistentvolumeclaims", *SET))
    async with managing(controllers()):
        api.remove("persistentvolumeclaims", SET)
        await eventually(lambda: [uid_of(found) for found in api.all("persistentvolumeclaims")] not in ([], [before]))
        await eventually(stands(api, "Ready"))
    assert [found.type for found in cluster.runtime(0).spool.operations.values()] == ["sync", "warmup"]


async def test_labels_that_somebody_removed_come_back(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    async with managing(controllers()) as manager:
        await eventually(lambda: rests(manager))
        label = sampleset_node_label("default", "imagenet")
        api.put("nodes", {"metadata": {"name": "node-1", "labels": {label: None}}})
        await eventually(lambda: labelled(api) == {"node-1": "imagenet-runtime-0"})
    assert cluster.runtimes


async def test_a_server_that_cannot_be_reached_is_told_of_and_stops_no_other_set(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """One black hole of a server stopped the whole of the original."""
    api.put("namespaces", {"metadata": {"name": "other"}})
    for namespace in ("default", "other"):
        api.put("secrets", secret(namespace))
    cluster.deaf.add(Key("default", "imagenet-runtime-0"))
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: stands(api, "Mount")() and status(api).get("cacheStatus", {}).get("errorMassage"))
        assert "imagenet-runtime-0: " in status(api)["cacheStatus"]["errorMassage"]
        assert "has not reported yet: " in why(api, "Synced")
        api.put("samplesets", sample_set("other"))
        await eventually(stands(api, "Ready", "other"))
        api.remove("samplesets", SET)
        await eventually(lambda: len(api.names("samplesets")) == 1)


async def test_no_value_of_a_secret_is_found_anywhere_else(
    api: Api, managing: Managing, cluster: CacheCluster, caplog: pytest.LogCaptureFixture
) -> None:
    planted = "hush-9f8e7d6c"
    caplog.set_level(logging.DEBUG)
    cluster.endings["sync"] = OperationState.FAILED
    api.put(
        "secrets", secret(**{"access-key": f"{planted}-key", "secret-key": planted, "metaurl": f"redis://:{planted}@h"})
    )
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: "no such bucket" in why(api, "Synced") and "ErrorDoSyncJob" in reasons(api))
        cluster.endings["sync"] = OperationState.SUCCEEDED
        await eventually(stands(api, "Ready"))
    assert {"accessKey": f"{planted}-key", "secretKey": planted} in cluster.runtime(0).credentials
    stored = [found for plural in (*KINDS, "samplesets", "events", "nodes") for found in api.all(plural)]
    assert planted not in str(stored)
    assert planted not in caplog.text
    token = cluster._token("default", "imagenet-runtime")
    assert token not in caplog.text
    assert token not in str(stored)


def reasons(api: Api) -> set[str]:
    return {event["reason"] for event in api.all("events")}


async def test_a_disk_that_others_use_makes_no_writes(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    server = cluster.runtime(0)
    server.capacity, server.taken = 500 << 30, 1 << 29
    async with managing(controllers()) as manager:
        await eventually(lambda: status(api)["nodes"][0]["capacityBytes"] == server.capacity and rests(manager))
        writes, free = len(api.writes), status(api)["nodes"][0]["freeBytes"]
        for _ in range(5):
            server.taken += 4096
            server.change()
            manager.loops[0].queue.add(SET)
            await eventually(lambda: rests(manager))
        assert [write for write in api.writes[writes:] if "samplesets/" in write] == []
        server.taken += 100 << 30
        server.change()
        await eventually(lambda: status(api)["nodes"][0]["freeBytes"] == free - (100 << 30))


async def test_many_sets_are_ready_and_at_rest_nothing_is_written(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    spaces = [f"team-{number}" for number in range(8)]
    for namespace in spaces:
        api.put("namespaces", {"metadata": {"name": namespace}})
        api.put("secrets", secret(namespace))
        api.put("samplesets", sample_set(namespace))
    async with managing(controllers()) as manager:
        await eventually(lambda: all(stands(api, "Ready", namespace)() for namespace in spaces))
        await eventually(lambda: rests(manager))
        writes = len(api.writes)
        for namespace in spaces:
            manager.loops[0].queue.add(Key(namespace, "imagenet"))
        await eventually(lambda: rests(manager))
    assert [write for write in api.writes[writes:] if "events/" not in write] == []
    assert len(cluster.runtimes) == len(spaces)
