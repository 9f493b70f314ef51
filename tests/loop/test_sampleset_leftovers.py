"""Nodes that a server left: their caches are emptied when it moved, at the latest with the set, and that ends."""

import datetime as dt

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.desired.sampleset import abandoned, ending
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.sampleloop import OURS, SET, controllers, labelled, left, rests, stands, status

from .conftest import Managing, is_ready


def told(api: Api, reason: str) -> list[str]:
    return [event["message"] for event in api.all("events") if event["reason"] == reason]


async def test_a_server_that_moves_leaves_no_block_behind(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        cluster.move(1, away_from="node-2")
        await eventually(lambda: cluster.cleaned and stands(api, "Ready")() and "leftNodes" not in status(api))
        await eventually(lambda: api.names("pods") == ["imagenet-runtime-0", "imagenet-runtime-1"])
    assert labelled(api) == {"node-1": "imagenet-runtime-0", "node-3": "imagenet-runtime-1"}
    assert [cluster.cache(node).cached > 0 for node in ("node-1", "node-2", "node-3")] == [True, False, True]
    assert cluster.cleaned == [("node-2", "default")]


async def test_a_cache_stays_as_long_as_its_server_may_come_back(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    async with managing(controllers()) as manager:
        cluster.cordoned = {"node-2", "node-3"}
        cluster.move(0, away_from="node-1")
        await eventually(lambda: status(api).get("leftNodes") == ["node-1"])
        await eventually(lambda: rests(manager))
        assert (labelled(api), cluster.cleaned) == ({"node-1": "imagenet-runtime-0"}, [])
        cluster.cordoned.remove("node-1")
        cluster.add_nodes("node-4")
        await eventually(lambda: stands(api, "Ready")() and "leftNodes" not in status(api))
    assert [found.type for found in cluster.cache("node-1").operations.values()] == ["sync", "warmup"]


async def test_a_server_that_comes_back_to_a_node_that_was_emptied_warms_it_up_again(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    async with managing(controllers()):
        cluster.move(0, away_from="node-1")
        await eventually(lambda: cluster.cleaned and "leftNodes" not in status(api))
        cluster.cordoned = {"node-2", "node-3"}
        api.remove("pods", Key("default", "imagenet-runtime-0"))
        await eventually(lambda: list(labelled(api)) == ["node-1"] and stands(api, "Ready")())
    assert [found.type for found in cluster.cache("node-1").operations.values()] == ["sync", "warmup", "warmup"]
    assert cluster.cache("node-1").cached > 0


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 8, 11])
async def test_killed_after_any_write_a_manager_empties_what_was_left(
    api: Api, managing: Managing, cluster: CacheCluster, number: int
) -> None:
    await is_ready(api, managing)
    last = len(api.writes) + number

    def is_done() -> bool:
        return bool(cluster.cleaned) and "leftNodes" not in status(api) and stands(api, "Ready")()

    async with managing(controllers()):
        cluster.move(0, away_from="node-1")
        await eventually(lambda: len(api.writes) >= last or is_done())
    async with managing(controllers()):
        await eventually(lambda: is_done() and api.names("pods") == ["imagenet-runtime-0"])
    assert cluster.cache("node-1").cached == 0
    assert cluster.cache(next(iter(labelled(api)))).cached > 0


async def test_a_node_that_comes_back_is_emptied_then(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    await is_ready(api, managing)
    async with managing(controllers()):
        cluster.kill_node("node-1")
        api.remove("pods", Key("default", "imagenet-runtime-0"))
        await eventually(lambda: list(labelled(api)) == ["node-2"] and stands(api, "Ready")())
        assert (status(api)["leftNodes"], cluster.cleaned) == (["node-1"], [])
        cluster.revive_node("node-1")
        await eventually(lambda: "leftNodes" not in status(api))
    assert cluster.cache("node-1").cached == 0


async def loses_its_node(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    """Have a set that was ready, and whose node and server are dead."""
    await is_ready(api, managing)
    cluster.kill_node("node-1")
    await cluster.runtime(0).stop()


async def test_a_set_ends_without_a_node_that_does_not_answer_and_tells_its_name(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    await loses_its_node(api, managing, cluster)
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: status(api).get("leftNodes") == ["node-1"])
        await eventually(lambda: [name for name in api.names("pods") if "-clear-" in name])
        assert not told(api, "CachesLeft")
        monkeypatch.setattr(ending, "LONGEST_CLEANING", dt.timedelta(0))
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
        await eventually(lambda: told(api, "CachesLeft"))
    (message,) = told(api, "CachesLeft")
    assert "the caches on node-1 could not be emptied: remove /dev/shm/default-imagenet-" in message


async def test_a_set_ends_at_once_without_a_node_that_is_no_more(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    await loses_its_node(api, managing, cluster)
    api.remove("nodes", Key("", "node-1"))
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
        await eventually(lambda: told(api, "CachesLeft"))
    assert cluster.cleaned == []


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
async def test_a_node_where_a_pod_only_read_is_emptied_with_the_set(
    api: Api, managing: Managing, cluster: CacheCluster, phase: str
) -> None:
    await is_ready(api, managing)
    ((_, place),) = cluster.spools
    cluster.spools["node-3", place].cached = 50
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}]
    spec = {"nodeName": "node-3", "containers": [{"name": "main", "image": "demo:v1"}], "volumes": volumes}
    reader: Manifest = {"metadata": {"name": "reader", "namespace": "default"}, "spec": spec}
    api.put("pods", {**reader, "status": {"phase": phase}})
    api.remove("samplesets", SET)
    async with managing(controllers()):
        if phase == "Running":
            await eventually(lambda: status(api).get("leftNodes") == ["node-3"])
            assert cluster.cache("node-3").cached > 0
            api.put("pods", {**reader, "status": {"phase": "Succeeded"}})
        await eventually(lambda: api.names("samplesets") == [])
    assert [cluster.cache(node).cached for node in ("node-1", "node-3")] == [0, 0]
    assert cluster.cleaned == [("node-3", OURS)]


async def test_caches_are_emptied_from_another_namespace_when_their_own_ends(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    async with managing(controllers()):
        api.remove("namespaces", Key("", "default"))
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    assert sorted(cluster.cleaned) == [("node-1", OURS), ("node-2", OURS)]
    assert [cluster.cache(node).cached for node in ("node-1", "node-2")] == [0, 0]
