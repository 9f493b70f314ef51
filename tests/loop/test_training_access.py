"""The rights that are printed for caches and training jobs are those that their controllers use, and no others."""

import datetime as dt
from collections.abc import Iterable

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, annotations_of
from paddle_operator.controllers import cachebackend, trainingjob
from paddle_operator.controllers.access import Access
from paddle_operator.desired.training import abandoned
from support import caches, embeddedapi, fluid
from support.caches import FLUID, SOURCE, cache_backend, hasty
from support.embeddedapi import Api
from support.eventually import eventually
from support.kubelet import Kubelet
from support.managing import managed
from support.noting import Noting
from support.trainingworld import replicas, tf_job, torch_job

from .conftest import SETTINGS

# The API server itself asks for these, when an object is made that holds up the deletion of its owner.
UNSEEN = {"finalizers"}
DESCRIBED = {"mountPath": "/data", "dataset": {"dataSources": [SOURCE]}, "cacheEngine": FLUID}


def printed(*accesses: Iterable[Access]) -> set[tuple[str, str]]:
    rules = [found.rule() for access in accesses for found in access if found.part not in UNSEEN]
    return {(rule["resources"][0], verb) for rule in rules for verb in rule["verbs"]}


async def test_a_manager_of_caches_and_training_jobs_uses_the_rights_that_it_is_given_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    kinds = [*trainingjob.STRUCTS]
    controllers = [*caches.controllers(), *(hasty(trainingjob.controller(name)) for name in kinds)]
    served = [*map(crd.v1, crd.KINDS), *fluid.DEFINITIONS]
    allowed = printed(cachebackend.ACCESS, *map(trainingjob.access, kinds)) - NOT_NEEDED_HERE
    async with embeddedapi.running(served) as api, Noting(api.config) as client:
        async with fluid.running(api), managed(client, controllers, SETTINGS):
            await live_through_everything(api)
        assert client.used == allowed


# Of these kinds nothing is changed by others here, and no event is told twice.
NOT_NEEDED_HERE = {
    *((plural, verb) for plural in ("samplesets", "juicefsruntimes") for verb in ("get", "create", "patch")),
    *(("dataloads", "get"), ("events", "get"), ("events", "patch")),
}


async def live_through_everything(api: Api) -> None:
    """Let happen, at least once, whatever makes a manager ask for something else."""
    kubelet = Kubelet(api)
    for plural in ("cachebackends", "pods"):
        api.fail("POST", f"/{plural}", 1, 409, "AlreadyExists")
    api.put("cachebackends", cache_backend("mnist", options={"idleTime": 3600, "preload": {}}))
    api.put("cachebackends", cache_backend("idle", options={"idleTime": -1}))
    own = tf_job({"Worker": replicas(1)}, cacheBackend=DESCRIBED, ttlSecondsAfterFinished=0, cleanPodPolicy="All")
    named = torch_job({"Master": replicas(1, "pytorch")}, cacheBackend={"name": "mnist", "mountPath": "/data"})
    for plural, job, name in (("tfjobs", own, "own"), ("pytorchjobs", named, "named")):
        api.put(plural, {**job, "metadata": {"name": name, "namespace": "default"}})
    await eventually(lambda: api.names("pods") == ["named-master-0", "own-worker-0"])
    await eventually(
        lambda: "cache.kubedl.io/claimed-by" in annotations_of(api.get("cachebackends", "default", "mnist"))
    )
    for plural, spoiled in (
        ("alluxioruntimes", {"replicas": 7}),
        ("datasets", {"mounts": [{"mountPoint": "s3://other"}]}),
    ):
        api.put(plural, {"metadata": {"name": "mnist", "namespace": "default"}, "spec": spoiled})
    service = {
        "metadata": {"name": "named-master-0", "namespace": "default"},
        "spec": {"selector": {"replica-type": "b"}},
    }
    api.put("services", service)
    await eventually(
        lambda: api.get("services", "default", "named-master-0")["spec"]["selector"]["replica-type"] != "b"
    )
    await eventually(lambda: api.get("datasets", "default", "mnist")["spec"]["mounts"][0]["name"] == "mnist")
    await eventually(lambda: api.get("alluxioruntimes", "default", "mnist")["spec"]["replicas"] == 1)
    api.put("nodes", {"metadata": {"name": "node-1"}})
    api.put("pods", {"metadata": {"name": "named-master-0", "namespace": "default"}, "spec": {"nodeName": "node-1"}})
    api.remove("pods", Key("default", "named-master-0"))
    kubelet.run("own-worker-0")
    kubelet.end("own-worker-0")
    await eventually(lambda: api.names("tfjobs") == [])
    await eventually(lambda: api.names("pods") == ["named-master-0"])
    api.put(
        "pytorchjobs", {"metadata": {"name": "named", "namespace": "default"}, "spec": {"ttlSecondsAfterFinished": 0}}
    )
    kubelet.end("named-master-0")
    await eventually(lambda: api.names("pytorchjobs") == [])
    await eventually(lambda: "idle" not in api.names("cachebackends"))
