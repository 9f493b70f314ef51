"""CacheBackends to submit, and what is to be seen of them."""

from collections.abc import Callable
from dataclasses import replace

from paddle_operator.api.manifest import Manifest
from paddle_operator.control.controller import Controller
from paddle_operator.controllers.cachebackend import controller
from support.embeddedapi import Api

LEVEL = {"cachePath": "/dev/shm", "quota": "1Gi", "mediumType": "MEM"}
SOURCE = {"location": "local:///dataset/mnist", "subDirName": "mnist"}
FLUID = {"fluid": {"alluxioRuntime": {"replicas": 1, "tieredStorage": [LEVEL]}}}
JUICEFS = {"juicefs": {"secretRef": {"name": "imagenet"}}}


def cache_backend(name: str = "mnist", engine: Manifest | None = None, /, **spec: object) -> Manifest:
    wanted = {"dataset": {"dataSources": [SOURCE]}, "cacheEngine": engine or FLUID, **spec}
    return {
        "apiVersion": "cache.kubedl.io/v1alpha1",
        "kind": "CacheBackend",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {field: part for field, part in wanted.items() if part is not None},
    }


def hasty(made: Controller) -> Controller:
    return replace(made, triggers=tuple(replace(trigger, settle=0.0) for trigger in made.triggers))


def controllers() -> list[Controller]:
    return [hasty(controller())]


def status(api: Api, name: str = "mnist") -> Manifest:
    found: Manifest = api.get("cachebackends", "default", name).get("status") or {}
    return found


def stands(api: Api, word: str, name: str = "mnist") -> Callable[[], bool]:
    return lambda: status(api, name).get("cacheStatus") == word


def why(api: Api, name: str = "mnist", kind: str = "Ready") -> str:
    found = [one for one in status(api, name).get("conditions", []) if one["type"] == kind]
    return "".join(f"{one['reason']}: {one['message']}" for one in found)


def using(name: str, cache: str = "mnist", kind: str = "TFJob", status: Manifest | None = None) -> Manifest:
    """Give a job of that kind that names the cache; nobody need look after it."""
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "demo:v1"}]}}
    replicas: Manifest = {"tfReplicaSpecs": {"Worker": {"template": template}}}
    if kind == "PyTorchJob":
        replicas = {"pytorchReplicaSpecs": {"Master": {"template": template}}}
    group = "training.kubedl.io/v1alpha1"
    if kind == "PaddleJob":
        group, replicas = "batch.paddlepaddle.org/v1", {"worker": {"replicas": 1, "template": template}}
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"cacheBackend": {"name": cache, "mountPath": "/data"}, **replicas},
        **({"status": status} if status else {}),
    }
