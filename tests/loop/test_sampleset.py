"""SampleSets on the real loop: the API server, the manager, the cluster and the runtime servers each do their part."""

import base64
from collections.abc import AsyncIterator, Callable

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.controller import Controller
from paddle_operator.controllers.sampleset import controller
from paddle_operator.desired.sampleset.snapshot import Settings
from support import cachecluster
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually

from .conftest import Managing

SET = Key("default", "imagenet")


@pytest.fixture
async def cluster(api: Api) -> AsyncIterator[CacheCluster]:
    async with cachecluster.running(api, "node-1", "node-2", "node-3") as running:
        yield running


def controllers() -> list[Controller]:
    return [controller(Settings("registry.example.com/paddle-operator:1"))]


def secret(namespace: str = "default", name: str = "imagenet", **values: str) -> Manifest:
    """Give a Secret as people make it, with the line ends that `echo` leaves."""
    given = {"name": "imagenet", "storage": "redis", "bucket": "redis://host/1", "metaurl": "redis://host/0", **values}
    data = {name: base64.b64encode(f"{value}\n".encode()).decode() for name, value in given.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def sample_set(namespace: str = "default", **spec: object) -> Manifest:
    source = {"uri": "bos://paddleflow-public.hkg.bcebos.com/imagenet/demo"}
    wanted = {"partitions": 1, "source": source, "secretRef": {"name": "imagenet"}, **spec}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {"name": "imagenet", "namespace": namespace},
        "spec": {name: part for name, part in wanted.items() if part is not None},
    }


def status(api: Api, namespace: str = "default") -> Manifest:
    found: Manifest = api.get("samplesets", namespace, "imagenet").get("status") or {}
    return found


def stands(api: Api, phase: str, namespace: str = "default") -> Callable[[], bool]:
    return lambda: status(api, namespace).get("phase", "") == phase


def why(api: Api, kind: str = "Ready") -> str:
    found = [one for one in status(api).get("conditions", []) if one["type"] == kind]
    return "".join(f"{one['reason']}: {one['message']}" for one in found)


async def test_a_set_is_made_bound_copied_warmed_up_and_ready(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    api.put("secrets", secret(**{"access-key": "mine", "secret-key": "hush"}))
    api.put("samplesets", sample_set(partitions=2))
    async with managing(controllers()):
        await eventually(stands(api, "Ready"))
    assert cluster.runtime(0).credentials == [{"accessKey": "mine", "secretKey": "hush"}]
    assert status(api)["runtimeStatus"] == {"runtimeReady": "2/2", "specReplicas": 2, "readyReplicas": 2}
