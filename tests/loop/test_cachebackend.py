"""CacheBackends on the real loop, with a stand-in for Fluid: made, waited for, used, given back."""

from collections.abc import AsyncIterator

import pytest

from paddle_operator.api import crd
from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Key, Manifest, owners_of, uid_of
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.api.training import PyTorchJob, TFJob
from paddle_operator.control.controller import World
from paddle_operator.controllers import cachebackend as controlling
from paddle_operator.controllers import cacheusers, sampleset
from paddle_operator.desired.cachebackend import plan as planning
from paddle_operator.desired.sampleset.snapshot import Settings
from paddle_operator.kube.client import Client
from support import cachecluster, embeddedapi, fluid
from support.caches import JUICEFS, cache_backend, controllers, hasty, stands, status, using, why
from support.embeddedapi import Api
from support.eventually import eventually
from support.fluid import Fluid
from support.managing import managed
from support.samplesets import secret

from .conftest import SETTINGS, Managing

MNIST = Key("default", "mnist")
OURS: tuple[type[Kind], ...] = (CacheBackend, TFJob, PyTorchJob, PaddleJob, SampleSet)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with embeddedapi.running([*map(crd.v1, OURS), *fluid.DEFINITIONS]) as running:
        yield running


@pytest.fixture
async def stand_in(api: Api) -> AsyncIterator[Fluid]:
    async with fluid.running(api) as running:
        yield running


def made(api: Api) -> list[str]:
    plurals = ("datasets", "alluxioruntimes", "juicefsruntimes", "dataloads", "samplesets")
    return [plural for plural in plurals for _ in api.names(plural)]


SECRET = {"name": "metaurl", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "metaurl"}}}
REMOTE = {"dataSources": [{"location": "juicefs:///demo", "encryptOptions": [SECRET]}]}
ON_FLUID = {
    "alluxioruntimes": cache_backend(),
    "juicefsruntimes": cache_backend("mnist", {"fluid": {"juicefsRuntime": {"replicas": 1}}}, dataset=REMOTE),
}


@pytest.mark.parametrize("runtime", ON_FLUID)
async def test_a_cache_is_made_waited_for_and_ready_once_its_claim_is_bound(
    api: Api, managing: Managing, stand_in: Fluid, runtime: str
) -> None:
    stand_in.slow = True
    api.put("cachebackends", ON_FLUID[runtime])
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreating"))
        await eventually(lambda: why(api).endswith("is NotBound: master Ready, worker NotReady"))
        stand_in.slow = False
        stand_in._keep(api.get("datasets", "default", "mnist"))
        await eventually(stands(api, "PVCCreated"))
        turns = {"CacheCreating", "PVCCreating", "PVCCreated"}
        await eventually(lambda: {event["reason"] for event in api.all("events")} == turns)
    told = status(api)
    assert (told["cacheEngine"], told["usedNum"], told["totalBytes"]) == ("fluid", 0, 11597250)
    assert told["nodeLabel"] == "fluid.io/s-default-mnist"
    assert why(api) == "Ready: Fluid's Dataset is Bound, 100.0% of it cached"
    assert made(api) == ["datasets", runtime]


async def test_what_fluid_adds_to_its_objects_stays_and_at_rest_nothing_is_written(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    api.put("cachebackends", cache_backend())
    async with managing(controllers()) as manager:
        await eventually(stands(api, "PVCCreated"))
        runtime = api.get("alluxioruntimes", "default", "mnist")
        assert owners_of(runtime) == {
            uid_of(api.get("cachebackends", "default", "mnist")),
            uid_of(api.get("datasets", "default", "mnist")),
        }
        before = len(api.writes)
        manager.loops[0].queue.add(MNIST)
        api.put("datasets", {"metadata": {"name": "mnist", "namespace": "default", "labels": {"theirs": "1"}}})
        await eventually(lambda: not manager.loops[0].queue._in_work and not manager.loops[0].queue._waiting)
        assert [write for write in api.writes[before:] if "events/" not in write] == []
    assert stand_in.why_not == ""


async def test_what_somebody_deletes_or_changes_comes_back(api: Api, managing: Managing, stand_in: Fluid) -> None:
    """The original made the objects once, and waited for ever for those that went."""
    stand_in.slow = True
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreating"))
        before = uid_of(api.get("alluxioruntimes", "default", "mnist"))
        api.remove("alluxioruntimes", MNIST)
        await eventually(lambda: [uid_of(found) for found in api.all("alluxioruntimes")] not in ([], [before]))
        api.put("alluxioruntimes", {"metadata": {"name": "mnist", "namespace": "default"}, "spec": {"replicas": 7}})
        await eventually(lambda: api.get("alluxioruntimes", "default", "mnist")["spec"]["replicas"] == 1)


@pytest.mark.usefixtures("stand_in")
async def test_a_deleted_dataset_is_made_again_though_its_claim_stays(api: Api, managing: Managing) -> None:
    """The claim goes with the runtime, which is still there."""
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        before = uid_of(api.get("datasets", "default", "mnist"))
        claimed = uid_of(api.get("persistentvolumeclaims", "default", "mnist"))
        api.remove("datasets", MNIST)
        await eventually(lambda: [uid_of(found) for found in api.all("datasets")] not in ([], [before]))
        await eventually(stands(api, "PVCCreated"))
    assert uid_of(api.get("persistentvolumeclaims", "default", "mnist")) == claimed
    assert "CacheFailed" not in [event["reason"] for event in api.all("events")]


async def test_a_cache_whose_claim_is_lost_waits_for_another(api: Api, managing: Managing, stand_in: Fluid) -> None:
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        stand_in.why_not = "the master is away"
        api.remove("persistentvolumeclaims", MNIST)
        await eventually(stands(api, "PVCCreating"))
        await eventually(lambda: why(api).endswith("the master is away"))


async def test_fluids_own_words_are_told_and_a_deadline_ends_the_wait(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    stand_in.why_not = "mount local:///dataset/mnist: no such directory"
    api.put("cachebackends", cache_backend(options={"timeoutSeconds": 1}))
    async with managing(controllers()):
        await eventually(lambda: why(api).endswith("is NotBound: mount local:///dataset/mnist: no such directory"))
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("CacheTimeout: it was not ready after 1 seconds: ")
        stand_in.why_not = ""
        stand_in._keep(api.get("datasets", "default", "mnist"))
        await eventually(stands(api, "PVCCreated"))


async def test_a_dataset_that_fails_is_told_in_fluids_words_and_may_recover(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        stand_in.fail("mnist", "the master is not ready: connection refused")
        await eventually(stands(api, "CacheFailed"))
        assert why(api) == "EngineFailed: Fluid's Dataset is Failed: the master is not ready: connection refused"
        assert made(api) == ["datasets", "alluxioruntimes"]
        stand_in.recover("mnist")
        await eventually(stands(api, "PVCCreated"))


@pytest.mark.usefixtures("stand_in")
async def test_a_cache_is_made_once_fluid_is_installed(
    api: Api, managing: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "LOOK_SECONDS", 0.05)
    api.fail("GET", "/data.fluid.io/", 1000, 404, "NotFound")
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("EngineMissing: the cluster has no Datasets")
        assert made(api) == []
        api.faults.clear()
        await eventually(stands(api, "PVCCreated"))


async def test_where_there_is_no_fluid_it_is_said_at_once() -> None:
    async with embeddedapi.running([*map(crd.v1, OURS)]) as bare, Client(bare.config, "tester") as client:
        bare.put("cachebackends", cache_backend())
        async with managed(client, controllers(), SETTINGS):
            await eventually(stands(bare, "CacheFailed"))
            assert why(bare).startswith("EngineMissing: the cluster has no Datasets: install Fluid")


async def test_where_fluid_is_forbidden_it_is_said_at_once(api: Api, managing: Managing) -> None:
    """The original's only worker hung for ever."""
    api.fail("GET", "/datasets", 1000, 403, "Forbidden")
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("Forbidden: the manager may not look at Datasets")


async def test_a_write_that_is_refused_is_told_in_the_servers_words(api: Api, managing: Managing) -> None:
    api.fail("POST", "/datasets", 1000, 403, "Forbidden")
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("Forbidden: ")
        api.faults.clear()
        await eventually(lambda: api.names("datasets") == ["mnist"])
        await eventually(lambda: status(api)["cacheStatus"] != "CacheFailed")


def claim(**metadata: object) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "metadata": {"name": "mnist", "namespace": "default", **metadata},
        "spec": spec,
        "status": {"phase": "Bound"},
    }


async def test_a_claim_of_somebody_else_is_neither_mounted_nor_touched(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    api.put("persistentvolumeclaims", claim())
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("NameTaken: PersistentVolumeClaim mnist exists and is not of this cache")
        assert made(api) == []
        api.remove("persistentvolumeclaims", MNIST)
        await eventually(stands(api, "PVCCreated"))
    assert stand_in.why_not == ""


async def test_a_dataset_of_somebody_else_is_told_of_and_left_alone(api: Api, managing: Managing) -> None:
    theirs = {
        "metadata": {"name": "mnist", "namespace": "default"},
        "spec": {"mounts": [{"mountPoint": "s3://theirs"}]},
    }
    api.put("datasets", theirs)
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("NameTaken: Dataset default/mnist exists and is not ours")
    assert api.get("datasets", "default", "mnist")["spec"] == theirs["spec"]


async def test_users_are_the_jobs_that_there_are_each_counted_once(api: Api, managing: Managing) -> None:
    """The original knew names alone: a TFJob and a PyTorchJob of one name were one user, and a deleted job stayed."""
    api.put("cachebackends", cache_backend())
    done = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    async with managing(controllers()):
        for kind, plural in (("TFJob", "tfjobs"), ("PyTorchJob", "pytorchjobs"), ("PaddleJob", "paddlejobs")):
            api.put(plural, using("a", kind=kind))
        api.put("tfjobs", using("other", cache="another"))
        await eventually(lambda: status(api).get("usedNum") == 3)
        assert status(api)["usedBy"] == ["a", "a", "a"]
        assert [user["kind"] for user in status(api)["users"]] == ["TFJob", "PyTorchJob", "PaddleJob"]
        assert "lastUsedTime" not in status(api)
        api.put("tfjobs", using("a", status=done))
        await eventually(lambda: status(api)["usedNum"] == 2)
        api.remove("pytorchjobs", Key("default", "a"))
        await eventually(lambda: [user["kind"] for user in status(api)["users"]] == ["PaddleJob"])
        api.remove("paddlejobs", Key("default", "a"))
        await eventually(lambda: status(api)["usedNum"] == 0)
        assert (status(api).get("usedBy", []), "lastUsedTime" in status(api)) == ([], True)


IDLE = {"a ready one": False, "one that never became ready": True}


@pytest.mark.parametrize("slow", IDLE.values(), ids=IDLE.keys())
async def test_an_idle_cache_goes_with_all_that_was_made_for_it(
    api: Api, managing: Managing, stand_in: Fluid, *, slow: bool
) -> None:
    stand_in.slow = slow
    api.put("cachebackends", cache_backend(options={"idleTime": 1}))
    async with managing(controllers()):
        await eventually(lambda: (api.names("cachebackends"), made(api)) == ([], []))
    assert [write for write in api.writes if "POST datasets" in write] != []


async def test_a_cache_in_use_or_without_an_idle_time_stays(api: Api, managing: Managing, stand_in: Fluid) -> None:
    api.put("cachebackends", cache_backend(options={"idleTime": -1}))
    api.put("tfjobs", using("a"))
    api.put("cachebackends", cache_backend("kept", options={"idleTime": 0}))
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        await eventually(stands(api, "PVCCreated", "kept"))
        api.remove("tfjobs", Key("default", "a"))
        await eventually(lambda: api.names("cachebackends") == ["kept"])
    assert stand_in.why_not == ""


async def test_a_claim_made_at_the_same_moment_wins_against_idle_deletion(
    api: Api, managing: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job writes on the cache before it uses it, so the deletion of what was seen before fails."""
    monkeypatch.setattr(controlling, "CLAIMED_SECONDS", 0.01)
    asked = cacheusers.ask_for_jobs

    async def late(world: World, cache: Key) -> list[cacheusers.Job]:
        users = await asked(world, cache)
        if not api.names("tfjobs"):
            api.put("tfjobs", using("a"))
            claimed = {"name": "mnist", "namespace": "default", "annotations": {"cache.kubedl.io/claimed-by": "a"}}
            api.put("cachebackends", {"metadata": claimed})
        return users

    monkeypatch.setattr(controlling, "ask_for_jobs", late)
    api.put("cachebackends", cache_backend(options={"idleTime": -1}))
    async with managing(controllers()):
        await eventually(lambda: status(api).get("usedBy") == ["a"])
        assert api.names("cachebackends") == ["mnist"]


async def test_who_is_not_seen_yet_is_asked_for_before_a_cache_is_deleted(
    api: Api, managing: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlling, "observe_jobs", lambda *_: [])
    monkeypatch.setattr(controlling, "CLAIMED_SECONDS", 0.01)
    api.put("tfjobs", using("a"))
    api.put("cachebackends", cache_backend(options={"idleTime": -1}))
    async with managing(controllers()) as manager:
        await eventually(lambda: float(manager.metrics._reconciles.labels("cachebackend", "done")._value.get()) > 3)
        assert api.names("cachebackends") == ["mnist"]


@pytest.mark.usefixtures("_hasty")
async def test_our_own_engine_needs_no_fluid_and_ends_with_its_sample_set() -> None:
    async with (
        embeddedapi.running([crd.v1(kind) for kind in crd.KINDS]) as bare,
        Client(bare.config, "tester") as client,
        cachecluster.running(bare, "node-1"),
    ):
        bare.put("secrets", secret())
        bare.put("cachebackends", cache_backend("mnist", JUICEFS))
        both = [*controllers(), hasty(sampleset.controller(Settings("image", ("/dataset",))))]
        async with managed(client, both, SETTINGS):
            await eventually(stands(bare, "PVCCreated"))
            assert status(bare)["cacheEngine"] == "juicefs"
            (spec,) = [found["spec"] for found in bare.all("samplesets")]
            assert spec["sources"] == [{"uri": "local:///dataset/mnist", "path": "mnist"}]
            (servers,) = bare.all("statefulsets")
            volumes = {found["name"]: found for found in servers["spec"]["template"]["spec"]["volumes"]}
            assert volumes["source-0"]["hostPath"] == {"path": "/dataset/mnist", "type": "Directory"}
            bare.remove("cachebackends", MNIST)
            await eventually(lambda: (bare.names("samplesets"), bare.names("persistentvolumes")) == ([], []))


async def test_a_preload_is_waited_for_where_that_is_asked(api: Api, managing: Managing, stand_in: Fluid) -> None:
    preload = {"paths": ["/mnist"], "waitFor": "Loaded"}
    api.put("cachebackends", cache_backend(options={"preload": preload, "placement": "Shared"}))
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
    (load,) = api.all("dataloads")
    assert load["spec"] == {
        "dataset": {"name": "mnist", "namespace": "default"},
        "target": [{"path": "/mnist"}],
    }
    assert why(api).endswith("its DataLoad is Complete")
    assert stand_in.why_not == ""


async def test_a_cache_that_no_server_should_have_let_in_is_told_of_and_others_go_on(careless: Api) -> None:
    del careless
    definition = crd.v1(CacheBackend)
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": fluid.OPEN}
    others = [crd.v1(kind) for kind in OURS if kind is not CacheBackend]
    served = [definition, *others, *fluid.DEFINITIONS]
    async with embeddedapi.running(served) as open_api, fluid.running(open_api), Client(open_api.config, "t") as client:
        open_api.put("cachebackends", cache_backend("a", dataset=None))
        open_api.put("cachebackends", cache_backend("b", {"fluid": {}}))
        bad = {"cachePath": "/dev/shm", "quota": "lots", "mediumType": "MEM"}
        engine = {"fluid": {"alluxioRuntime": {"tieredStorage": [bad]}}}
        open_api.put("cachebackends", cache_backend("c", engine))
        open_api.put("cachebackends", cache_backend("d", dataset={"dataSources": "none"}))
        open_api.put("cachebackends", cache_backend("good"))
        async with managed(client, controllers(), SETTINGS):
            for name in "abcd":
                await eventually(stands(open_api, "CacheFailed", name))
            await eventually(stands(open_api, "PVCCreated", "good"))
        assert why(open_api, "a").startswith("Invalid: there is nothing to cache")
        assert why(open_api, "b").startswith("Invalid: fluid must have exactly one runtime")
        assert why(open_api, "c") == "Invalid: the quota 'lots' of /dev/shm is no quantity such as 1Gi"
        assert why(open_api, "d", "Stalled").startswith("Invalid: the CacheBackend cannot be read")
        assert open_api.names("datasets") == ["good"]


async def test_nothing_is_made_before_it_is_known_which_claims_there_are(api: Api, managing: Managing) -> None:
    """The original took any failure to look for a claim for the word that there is none."""
    api.fail("GET", "/persistentvolumeclaims", 20, 500, "InternalError")
    api.put("persistentvolumeclaims", claim())
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "CacheFailed"))
        assert why(api).startswith("NameTaken: ")
    assert [write for write in api.writes if "datasets" in write] == []


async def test_more_workers_and_another_place_reach_fluid(api: Api, managing: Managing, stand_in: Fluid) -> None:
    """The original never looked at a cache's spec again."""
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        await eventually(stands(api, "PVCCreated"))
        engine = {"fluid": {"alluxioRuntime": {"replicas": 3}}}
        api.put("cachebackends", cache_backend("mnist", engine, options={"placement": "Shared"}))
        await eventually(lambda: api.get("alluxioruntimes", "default", "mnist")["spec"]["replicas"] == 3)
        await eventually(lambda: api.get("datasets", "default", "mnist")["spec"].get("placement") == "Shared")
    assert stand_in.why_not == ""
