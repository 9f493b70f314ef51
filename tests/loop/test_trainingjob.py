"""TFJobs and PyTorchJobs on the real loop, with caches made by the real controller and a stand-in for Fluid."""

from collections.abc import AsyncIterator

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.control.controller import Controller
from paddle_operator.controllers import paddlejob, trainingjob
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.kube.client import Client
from support import caches, embeddedapi, fluid
from support.caches import FLUID, SOURCE, cache_backend, hasty
from support.embeddedapi import Api
from support.eventually import eventually
from support.fluid import Fluid
from support.kubelet import Kubelet
from support.managing import managed
from support.trainingworld import replicas, tf_job, torch_job

from .conftest import SETTINGS, Managing

WORKER = {"Worker": replicas(1, restartPolicy="Never")}
DESCRIBED = {"mountPath": "/data", "dataset": {"dataSources": [SOURCE]}, "cacheEngine": FLUID}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with embeddedapi.running([*map(crd.v1, crd.KINDS), *fluid.DEFINITIONS]) as running:
        yield running


@pytest.fixture
async def stand_in(api: Api) -> AsyncIterator[Fluid]:
    async with fluid.running(api) as running:
        yield running


def controllers() -> list[Controller]:
    training = [hasty(trainingjob.controller(name)) for name in trainingjob.STRUCTS]
    return [*caches.controllers(), *training, hasty(paddlejob.controller(Settings()))]


def submitted(job: Manifest, name: str = "demo") -> Manifest:
    return {**job, "metadata": {"name": name, "namespace": "default"}}


def state(api: Api, name: str = "demo", plural: str = "tfjobs") -> str:
    found = (api.get(plural, "default", name).get("status") or {}).get("conditions") or [{}]
    return str(found[-1].get("type", ""))


async def test_the_documents_job_makes_its_cache_waits_for_it_and_takes_it_with_it(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    stand_in.slow = True
    job = api.put("tfjobs", submitted(tf_job(WORKER, cacheBackend=DESCRIBED, cleanPodPolicy="None"), "tf-cache"))
    name = f"cache-tf-cache-{uid_of(job)[:5]}"
    async with managing(controllers()):
        await eventually(lambda: api.names("cachebackends") == [name])
        await eventually(caches.stands(api, "PVCCreating", name))
        assert caches.status(api, name)["jobName"] == "tf-cache"
        assert (api.names("pods"), state(api, "tf-cache")) == ([], "Created")
        stand_in.slow = False
        stand_in._keep(api.get("datasets", "default", name))
        await eventually(lambda: api.names("pods") == ["tf-cache-worker-0"])
        await eventually(lambda: caches.status(api, name).get("usedBy") == ["tf-cache"])
        kubelet = Kubelet(api)
        kubelet.run()
        await eventually(lambda: state(api, "tf-cache") == "Running")
        kubelet.end("tf-cache-worker-0")
        await eventually(lambda: state(api, "tf-cache") == "Succeeded")
        await eventually(lambda: caches.status(api, name)["usedNum"] == 0)
        assert api.names("pods") == ["tf-cache-worker-0"]
        api.remove("tfjobs", Key("default", "tf-cache"))
        await eventually(lambda: (api.names("cachebackends"), api.names("datasets")) == ([], []))


async def test_a_shared_cache_is_used_by_jobs_of_all_kinds_and_outlives_them(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    named = {"name": "mnist", "mountPath": "/data"}
    api.put("cachebackends", cache_backend(options={"idleTime": 3600}))
    template = {"spec": {"containers": [{"name": "train", "image": "demo:v1"}]}}
    paddle = {"worker": {"replicas": 1, "template": template}, "cacheBackend": named}
    async with managing(controllers()):
        api.put("tfjobs", submitted(tf_job(WORKER, cacheBackend=named), "a"))
        api.put("pytorchjobs", submitted(torch_job({"Master": replicas(1, "pytorch")}, cacheBackend=named), "b"))
        api.put("paddlejobs", {"metadata": {"name": "c", "namespace": "default"}, "spec": paddle})
        await eventually(lambda: caches.status(api).get("usedNum") == 3)
        await eventually(lambda: api.names("pods") == ["a-worker-0", "b-master-0", "c-worker-0"])
        for pod in api.all("pods"):
            claims = [found["persistentVolumeClaim"]["claimName"] for found in pod["spec"]["volumes"]]
            assert claims == ["mnist"]
        for plural, name in (("tfjobs", "a"), ("pytorchjobs", "b"), ("paddlejobs", "c")):
            api.remove(plural, Key("default", name))
        await eventually(lambda: caches.status(api)["usedNum"] == 0)
    assert api.names("cachebackends") == ["mnist"]
    assert stand_in.why_not == ""


async def test_jobs_of_two_kinds_and_one_name_do_not_take_each_others_pods(api: Api, managing: Managing) -> None:
    async with managing(controllers()):
        api.put("tfjobs", submitted(tf_job(WORKER)))
        await eventually(lambda: api.names("pods") == ["demo-worker-0"])
        mine = uid_of(api.get("pods", "default", "demo-worker-0"))
        api.put("pytorchjobs", submitted(torch_job({"Worker": replicas(1, "pytorch")})))
        await eventually(lambda: state(api, plural="pytorchjobs") == "Stalled")
        assert uid_of(api.get("pods", "default", "demo-worker-0")) == mine


async def test_an_invalid_pod_is_told_in_the_servers_words_and_is_not_lost(api: Api, managing: Managing) -> None:
    """The original threw the errors of its pods away."""
    api.fail("POST", "/pods", 1000, 403, "Forbidden")
    api.put("tfjobs", submitted(tf_job({"Worker": replicas(2)})))
    async with managing(controllers()):
        await eventually(lambda: state(api) == "Stalled")
        (*_, told) = api.get("tfjobs", "default", "demo")["status"]["conditions"]
        assert (told["reason"], told["message"]) == ("Forbidden", "403 Forbidden: a fault made by the test")
        api.faults.clear()
        await eventually(lambda: api.names("pods") == ["demo-worker-0", "demo-worker-1"])
        await eventually(lambda: state(api) == "Created")


async def test_a_job_whose_cache_went_ends_all_the_same_and_one_that_is_deleted_lets_go(
    api: Api, managing: Managing, stand_in: Fluid
) -> None:
    named = {"name": "mnist", "mountPath": "/data"}
    api.put("cachebackends", cache_backend())
    async with managing(controllers()):
        api.put("tfjobs", submitted(tf_job(WORKER, cacheBackend=named)))
        await eventually(lambda: api.names("pods") == ["demo-worker-0"])
        api.remove("cachebackends", Key("default", "mnist"))
        await eventually(lambda: api.names("cachebackends") == [])
        Kubelet(api).end("demo-worker-0", 1)
        await eventually(lambda: state(api) == "Failed")
    assert stand_in.why_not == ""


@pytest.mark.parametrize("kind", ["tfjobs", "pytorchjobs"])
async def test_a_training_job_that_nobody_can_read_says_where(kind: str) -> None:
    struct = next(found for found in crd.KINDS if found.definition.plural == kind)
    definition = crd.v1(struct)
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": fluid.OPEN}
    others = [crd.v1(found) for found in crd.KINDS if found is not struct]
    async with embeddedapi.running([definition, *others, *fluid.DEFINITIONS]) as careless:
        careless.put(kind, {"metadata": {"name": "demo", "namespace": "default"}, "spec": {"cleanPodPolicy": 3}})
        async with Client(careless.config, "tester") as client, managed(client, controllers(), SETTINGS):
            await eventually(lambda: state(careless, plural=kind) == "Stalled")
