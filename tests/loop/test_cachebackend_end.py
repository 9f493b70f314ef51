"""CacheBackends that are deleted while jobs read from them: they wait, say for whom, and always end."""

from collections.abc import AsyncIterator

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.controllers import cachebackend, sampleset, trainingjob
from paddle_operator.desired.sampleset.snapshot import Settings
from paddle_operator.kube.client import Client
from support import cachecluster, embeddedapi, fluid
from support.caches import JUICEFS, cache_backend, controllers, hasty, stands, status, using, why
from support.embeddedapi import Api
from support.eventually import eventually
from support.fluid import Fluid
from support.kubelet import Kubelet
from support.managing import managed, passes
from support.samplesets import secret
from support.trainingworld import replicas, tf_job

from .conftest import SETTINGS, Managing

MNIST, JOB = Key("default", "mnist"), Key("default", "a")
NAMED_MNIST = {"name": "mnist", "namespace": "default"}
OWN = "cache.kubedl.io/in-use"
ACTIVE: Manifest = {"replicaStatuses": {"Worker": {"active": 1}}}
ENDED: Manifest = {"conditions": [{"type": "Failed", "status": "True"}]}
PLURALS = {"TFJob": "tfjobs", "PyTorchJob": "pytorchjobs", "PaddleJob": "paddlejobs"}
READING = {"TFJob": ACTIVE, "PyTorchJob": ACTIVE, "PaddleJob": {"phase": "Running", "worker": {"running": 1}}}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with embeddedapi.running([*map(crd.v1, crd.KINDS), *fluid.DEFINITIONS]) as running:
        yield running


@pytest.fixture(autouse=True)
async def _stand_in(api: Api) -> AsyncIterator[Fluid]:
    async with fluid.running(api) as running:
        yield running


def finalizers(api: Api) -> list[str]:
    return api.get("cachebackends", "default", "mnist")["metadata"].get("finalizers") or []


def is_there(api: Api) -> bool:
    return (api.names("cachebackends"), api.names("datasets")) == (["mnist"], ["mnist"])


def is_gone(api: Api) -> bool:
    return (api.names("cachebackends"), api.names("datasets"), api.names("persistentvolumeclaims")) == ([], [], [])


@pytest.mark.parametrize("kind", PLURALS)
async def test_a_cache_that_is_deleted_waits_for_the_job_that_reads_from_it_and_says_so(
    api: Api, managing: Managing, kind: str
) -> None:
    api.put("cachebackends", cache_backend())
    api.put(PLURALS[kind], using("a", kind=kind, status=READING[kind]))
    async with managing(controllers()):
        await eventually(lambda: finalizers(api) == [OWN])
        api.remove("cachebackends", MNIST)
        words = f"it is being deleted, and waits for {kind} a to end"
        await eventually(lambda: why(api, kind="InUse") == f"InUse: {words}")
        await eventually(lambda: [event["message"] for event in api.all("events") if event["reason"] == "InUse"])
        await eventually(stands(api, "PVCCreated"))
        assert (status(api)["usedNum"], is_there(api)) == (1, True)
        api.remove(PLURALS[kind], JOB)
        await eventually(lambda: is_gone(api))


BETWEEN: Manifest = {
    "TFJob": {"conditions": [{"type": "Restarting", "status": "True"}]},
    "PyTorchJob": {"conditions": [{"type": "Restarting", "status": "True"}]},
    "PaddleJob": {"phase": "Restarting", "worker": {"failed": 1}},
}


@pytest.mark.parametrize("kind", PLURALS)
async def test_a_cache_waits_also_for_a_job_that_is_between_two_pods(api: Api, managing: Managing, kind: str) -> None:
    api.put("cachebackends", cache_backend())
    api.put(PLURALS[kind], using("a", kind=kind, status=BETWEEN[kind]))
    async with managing(controllers()):
        await eventually(lambda: finalizers(api) == [OWN])
        api.remove("cachebackends", MNIST)
        await eventually(lambda: why(api, kind="InUse").endswith(f"waits for {kind} a to end"))
        api.remove(PLURALS[kind], JOB)
        await eventually(lambda: is_gone(api))


WITHOUT = {"conditions": [{"type": "CacheReady", "status": "False", "reason": "RunsWithoutCache"}]}
HARMLESS = {
    "it waits for the cache": {},
    "it has ended": {**ACTIVE, **ENDED},
    "it runs without the cache": {**ACTIVE, **WITHOUT},
}


@pytest.mark.parametrize("state", HARMLESS.values(), ids=HARMLESS.keys())
async def test_a_job_that_does_not_read_does_not_hold_a_cache(api: Api, managing: Managing, state: Manifest) -> None:
    api.put("cachebackends", cache_backend())
    api.put("tfjobs", using("a", status=state))
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        assert finalizers(api) == []
        api.remove("cachebackends", MNIST)
        await eventually(lambda: is_gone(api))


async def test_a_job_that_is_being_deleted_does_not_hold_a_cache(api: Api, managing: Managing) -> None:
    """Deleted in the foreground, a job waits for its own cache to go."""
    api.put("cachebackends", cache_backend())
    job = using("a", status=ACTIVE)
    api.put("tfjobs", {**job, "metadata": {**job["metadata"], "finalizers": ["example.com/foreground"]}})
    async with managing(controllers()):
        await eventually(lambda: finalizers(api) == [OWN])
        api.remove("tfjobs", JOB)
        api.remove("cachebackends", MNIST)
        await eventually(lambda: is_gone(api))
    assert api.names("tfjobs") == ["a"]


async def test_a_cache_that_nobody_uses_any_more_can_go_without_a_manager(api: Api, managing: Managing) -> None:
    api.put("cachebackends", cache_backend())
    api.put("tfjobs", using("a", status=ACTIVE))
    async with managing(controllers()):
        await eventually(lambda: finalizers(api) == [OWN])
        api.put("tfjobs", using("a", status={**ACTIVE, **ENDED}))
        await eventually(lambda: finalizers(api) == [])


async def test_finalizers_of_others_stay(api: Api, managing: Managing) -> None:
    theirs = cache_backend()
    theirs["metadata"]["finalizers"] = ["example.com/theirs"]
    api.put("cachebackends", theirs)
    api.put("tfjobs", using("a", status=ACTIVE))
    async with managing(controllers()):
        await eventually(lambda: finalizers(api) == ["example.com/theirs", OWN])
        api.remove("cachebackends", MNIST)
        api.remove("tfjobs", JOB)
        await eventually(lambda: finalizers(api) == ["example.com/theirs"])


async def test_who_is_not_seen_yet_is_asked_for_before_a_cache_is_let_go(
    api: Api, managing: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cachebackend, "CLAIMED_SECONDS", 0.01)
    going = cache_backend()
    going["metadata"]["finalizers"] = [OWN]
    api.put("cachebackends", going)
    api.put("tfjobs", using("a", status=ACTIVE))
    api.remove("cachebackends", MNIST)
    monkeypatch.setattr(cachebackend, "observe_jobs", lambda *_: [])
    async with managing(controllers()) as manager:
        await eventually(lambda: passes(manager, "cachebackend") > 3)
        assert finalizers(api) == [OWN]


async def test_a_job_that_runs_still_gets_the_pods_that_it_lacks(api: Api, managing: Managing) -> None:
    """Were they to wait for the cache that waits for the job, neither would ever end."""
    api.put("cachebackends", cache_backend())
    named = {"name": "mnist", "mountPath": "/data"}
    job = tf_job({"Worker": replicas(2, restartPolicy="Never")}, cacheBackend=named)
    api.put("tfjobs", {**job, "metadata": {"name": "a", "namespace": "default"}})
    async with managing([*controllers(), hasty(trainingjob.controller(trainingjob.TF))]):
        await eventually(lambda: api.names("pods") == ["a-worker-0", "a-worker-1"])
        Kubelet(api).run()
        await eventually(lambda: finalizers(api) == [OWN])
        api.remove("cachebackends", MNIST)
        api.remove("pods", Key("default", "a-worker-1"))
        await eventually(lambda: api.names("pods") == ["a-worker-0", "a-worker-1"])
        assert is_there(api)
        volumes = api.get("pods", "default", "a-worker-1")["spec"]["volumes"]
        assert "mnist" in [volume.get("persistentVolumeClaim", {}).get("claimName") for volume in volumes]
        for name in ("a-worker-0", "a-worker-1"):
            Kubelet(api).end(name)
        await eventually(lambda: is_gone(api))


async def test_a_job_whose_only_pod_is_made_anew_keeps_a_cache_that_is_deleted_meanwhile(
    api: Api, managing: Managing
) -> None:
    named = {"name": "mnist", "mountPath": "/data"}
    job = tf_job({"Worker": replicas(1)}, cacheBackend=named)
    api.put("cachebackends", cache_backend())
    api.put("tfjobs", {**job, "metadata": {"name": "a", "namespace": "default"}})
    async with managing([*controllers(), hasty(trainingjob.controller(trainingjob.TF))]):
        await eventually(lambda: api.names("pods") == ["a-worker-0"])
        Kubelet(api).run()
        await eventually(lambda: finalizers(api) == [OWN])
        api.remove("cachebackends", MNIST)
        before = uid_of(api.get("pods", "default", "a-worker-0"))
        Kubelet(api).end("a-worker-0", 137)
        await eventually(lambda: [uid_of(found) for found in api.all("pods")] not in ([], [before]))
        await eventually(lambda: why(api, kind="InUse").endswith("waits for TFJob a to end"))
        volumes = api.get("pods", "default", "a-worker-0")["spec"]["volumes"]
        assert [volume["persistentVolumeClaim"]["claimName"] for volume in volumes] == ["mnist"]
        Kubelet(api).end("a-worker-0")
        await eventually(lambda: is_gone(api))


async def test_a_cache_made_again_waits_for_the_end_of_what_the_one_before_has_left(
    api: Api, managing: Managing
) -> None:
    """Its jobs wait too, also those that fail when their cache does."""
    named = {"name": "mnist", "mountPath": "/data", "onCacheFailure": "Fail"}
    job = tf_job({"Worker": replicas(1)}, cacheBackend=named)
    api.put("cachebackends", cache_backend("mnist", JUICEFS))
    async with managing([*controllers(), hasty(trainingjob.controller(trainingjob.TF))]):
        await eventually(lambda: api.names("samplesets") == ["mnist"])
        api.put("samplesets", {"metadata": {**NAMED_MNIST, "finalizers": ["example.com/slow"]}})
        before = uid_of(api.get("samplesets", "default", "mnist"))
        api.remove("cachebackends", MNIST)
        await eventually(lambda: api.names("cachebackends") == [])
        api.put("cachebackends", cache_backend("mnist", JUICEFS))
        api.put("tfjobs", {**job, "metadata": {"name": "a", "namespace": "default"}})
        await eventually(lambda: why(api) == "Creating: waits for the end of SampleSet mnist")
        await eventually(lambda: "conditions" in (api.get("tfjobs", "default", "a").get("status") or {}))
        api.put("samplesets", {"metadata": {**NAMED_MNIST, "finalizers": []}})
        await eventually(lambda: [uid_of(found) for found in api.all("samplesets")] not in ([], [before]))
        await eventually(stands(api, "PVCCreating"))
        told = {event["reason"] for event in api.all("events")}
    assert told.isdisjoint({"CacheFailed", "JobFailed"})


@pytest.mark.usefixtures("_hasty")
async def test_the_sample_set_behind_a_cache_stays_as_long_as_the_cache(api: Api) -> None:
    api.put("secrets", secret())
    api.put("cachebackends", cache_backend("mnist", JUICEFS))
    api.put("tfjobs", using("a", status=ACTIVE))
    both = [*controllers(), hasty(sampleset.controller(Settings("image", ("/dataset",))))]
    async with Client(api.config, "t") as client, cachecluster.running(api, "node-1"), managed(client, both, SETTINGS):
        await eventually(stands(api, "PVCCreated"))
        api.remove("cachebackends", MNIST)
        await eventually(lambda: why(api, kind="InUse").endswith("waits for TFJob a to end"))
        assert "deletionTimestamp" not in api.get("samplesets", "default", "mnist")["metadata"]
        api.put("tfjobs", using("a", status=ENDED))
        await eventually(lambda: (api.names("cachebackends"), api.names("samplesets")) == ([], []))
