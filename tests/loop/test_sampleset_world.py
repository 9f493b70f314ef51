"""SampleSets among others: with PaddleJobs in one manager, on a careless API server, under faults, by their rights."""

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.controllers import hindrances, paddlejob, sampleset
from paddle_operator.desired.paddlejob import snapshot as paddle
from support import cachecluster
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.managing import managed
from support.noting import Noting
from support.paddleworld import role
from support.sampleloop import SET, conditions, controllers, labelled, left, rests, stands, why
from support.samplesets import sample_set, secret

from .conftest import SETTINGS, Managing, is_ready

JOB: Manifest = {
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"sampleSetRef": {"name": "imagenet", "mountPath": "/mnt/imagenet"}, "worker": role(2)},
}


async def test_workers_start_next_to_their_data_when_it_is_ready(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    both = [paddlejob.controller(paddle.Settings()), *controllers()]
    api.put("paddlejobs", JOB)
    async with managing(both):
        await eventually(lambda: api.get("paddlejobs", "default", "train").get("status"))
        assert api.names("pods") == []
        api.put("secrets", secret())
        api.put("samplesets", sample_set(partitions=2))
        await eventually(lambda: {"train-worker-0", "train-worker-1"} <= set(api.names("pods")))
    label = sampleset_node_label("default", "imagenet")
    for number in range(2):
        affinity = api.get("pods", "default", f"train-worker-{number}")["spec"]["affinity"]
        assert f"'key': '{label}'" in str(affinity)
        assert f"['imagenet-runtime-{number}']" in str(affinity)
    assert labelled(api) == {"node-1": "imagenet-runtime-0", "node-2": "imagenet-runtime-1"}
    assert cluster.runtimes


SPECS: dict[str, Manifest] = {
    "no partitions": {"partitions": None},
    "partitions in words": {"partitions": "two"},
    "no secret": {"secretRef": None},
    "an unknown driver": {"csi": {"driver": "pigeon"}},
    "no source": {"source": None},
    "a source that is none": {"source": 5},
    "a level that is none": {"cache": {"levels": [{"path": "/x"}]}},
    "a mount option that is several": {
        "csi": {"driver": "juicefs", "juiceFSMountOptions": {"sub-dir": "a,allow_other"}}
    },
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
async def test_a_set_that_no_server_should_have_let_in_stalls_and_can_be_deleted(
    careless: Api, working: Managing, spec: Manifest
) -> None:
    """A set without secretRef made the original crash, again and again."""
    theirs = sample_set(**spec)
    theirs["metadata"]["finalizers"] = ["paddlepaddle.org/sampleset-imagenet"]
    careless.put("samplesets", theirs)
    async with working(controllers()) as manager:
        await eventually(lambda: conditions(careless).get("Stalled", {}).get("reason") == "Invalid")
        assert left(careless) == []
        careless.remove("samplesets", SET)
        await eventually(lambda: careless.names("samplesets") == [])
        assert manager.metrics._retries.labels("sampleset")._value.get() == 0


async def test_a_hostile_job_or_status_stops_no_set(careless: Api, working: Managing) -> None:
    careless.put("paddlejobs", {**JOB, "spec": {"sampleSetRef": "imagenet"}})
    other = {"name": "other", "namespace": "default"}
    careless.put("paddlejobs", {**JOB, "metadata": other, "status": {"worker": 5, "phase": []}})
    careless.put("samplejobs", {"metadata": {"name": "j", "namespace": "default"}, "spec": {"sampleSetRef": ["x"]}})
    careless.put("secrets", secret())
    careless.put("samplesets", {**sample_set(), "status": {"phase": 5, "nodes": "many"}})
    async with cachecluster.running(careless, "node-1"), working(controllers()):
        await eventually(stands(careless, "Ready"))


async def test_failing_writes_delay_and_do_not_prevent(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    for method, part in (
        *(("POST", f"/{plural}") for plural in ("persistentvolumes", "persistentvolumeclaims", "secrets")),
        *(("PATCH", part) for part in ("/statefulsets", "/nodes", "/status")),
        ("DELETE", "/persistentvolumes"),
    ):
        api.fail(method, part, 3, 500, "InternalError")
    await is_ready(api, managing)
    api.remove("samplesets", SET)
    async with managing(controllers()):
        await eventually(lambda: (api.names("samplesets"), left(api)) == ([], []))
    assert cluster.runtimes


async def test_a_refused_write_is_told_in_the_servers_words(api: Api, managing: Managing) -> None:
    api.fail("POST", "/persistentvolumes", 5, 403, "Forbidden")
    api.put("secrets", secret())
    api.put("samplesets", sample_set())
    async with managing(controllers()):
        await eventually(lambda: why(api, "Stalled").startswith("Forbidden: "))
        await eventually(lambda: not why(api, "Stalled"))


async def test_what_keeps_a_server_from_mounting_the_data_is_told_in_its_nodes_words(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hindrances, "STUCK_PAUSE", 0.0)
    said = "juicefs cannot format the volume imagenet: the metadata engine in metaurl refuses the user or the password"
    stuck(api, cluster)
    async with managing(controllers()) as manager:
        await eventually(lambda: bool(api.names("pods")) and rests(manager))
        cluster.complain(0, f'MountVolume.SetUp failed for volume "x" : rpc error: code = Internal desc = {said}')
        manager.loops[0].queue.add(SET)
        await eventually(lambda: why(api).endswith(f"0 of 1 runtime servers are ready; imagenet-runtime-0: {said}"))
        cluster.stuck.clear()
        api.put("nodes", {"metadata": {"name": "node-9"}})
        await eventually(stands(api, "Ready"))


async def test_a_manager_that_may_not_read_events_goes_on_without(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    stuck(api, cluster)
    api.fail("GET", "/events", 1000, 403, "Forbidden")
    async with managing(controllers()):
        await eventually(lambda: why(api) == "RuntimeStarting: 0 of 1 runtime servers are ready")


def stuck(api: Api, cluster: CacheCluster) -> None:
    cluster.stuck.add(Key("default", "imagenet-runtime-0"))
    api.put("secrets", secret())
    api.put("samplesets", sample_set())


# No request shows these: the API server itself asks for them, or a name that is taken has to be looked at.
UNSEEN = {
    ("samplesets/finalizers", "update"),
    ("samplesets", "get"),
    ("pods", "get"),
    *((plural, "get") for plural in ("persistentvolumes", "persistentvolumeclaims", "services", "statefulsets")),
    *((plural, verb) for plural, verb in (("events", "get"), ("events", "patch"), ("services", "delete"))),
    ("services", "patch"),
}


async def test_a_manager_asks_for_no_right_that_it_is_not_given(api: Api, cluster: CacheCluster) -> None:
    rules = [access.rule() for access in sampleset.ACCESS]
    printed = {(rule["resources"][0], verb) for rule in rules for verb in rule["verbs"]}
    api.put("secrets", secret())
    api.put("samplesets", sample_set(partitions=2))
    async with Noting(api.config) as client, managed(client, controllers(), SETTINGS):
        await eventually(stands(api, "Ready"))
        api.put("samplesets", sample_set(partitions=1))
        await eventually(lambda: len(labelled(api)) == 1 and len(api.names("pods")) == 1)
        cluster.stuck.add(Key("default", "imagenet-runtime-0"))
        api.remove("pods", Key("default", "imagenet-runtime-0"))
        await eventually(lambda: ("events", "list") in client.used)
        cluster.stuck.clear()
        api.put("nodes", {"metadata": {"name": "node-9"}})
        await eventually(stands(api, "Ready"))
        cluster.move(0, away_from="node-1")
        await eventually(lambda: ("pods", "delete") in client.used and stands(api, "Ready")())
        api.remove("samplesets", SET)
        await eventually(lambda: api.names("samplesets") == [])
        assert client.used <= printed
        assert printed - client.used <= UNSEEN
    assert cluster.runtimes
