"""SampleSets on the loop: a quick controller, and what is to be seen of them in the API server."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from paddle_operator.api.manifest import Key, Manifest, labels_of
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager
from paddle_operator.controllers.sampleset import controller
from paddle_operator.desired.sampleset.snapshot import Settings
from support.embeddedapi import Api

SET = Key("default", "imagenet")
OURS = "paddle-system"
KINDS = ("persistentvolumes", "persistentvolumeclaims", "statefulsets", "services", "pods")
SOON = 2.0


def controllers(image: str = "registry.example.com/paddle-operator:1") -> list[Controller]:
    made = controller(Settings(image, namespace=OURS))
    return [replace(made, triggers=tuple(replace(trigger, settle=0.0) for trigger in made.triggers))]


def status(api: Api, namespace: str = "default") -> Manifest:
    found: Manifest = api.get("samplesets", namespace, "imagenet").get("status") or {}
    return found


def stands(api: Api, phase: str, namespace: str = "default") -> Callable[[], bool]:
    return lambda: status(api, namespace).get("phase", "") == phase


def conditions(api: Api) -> dict[str, Manifest]:
    return {found["type"]: found for found in status(api).get("conditions", [])}


def why(api: Api, kind: str = "Ready") -> str:
    found = [one for one in status(api).get("conditions", []) if one["type"] == kind]
    return "".join(f"{one['reason']}: {one['message']}" for one in found)


def labelled(api: Api, namespace: str = "default") -> dict[str, str]:
    label = sampleset_node_label(namespace, "imagenet")
    found = {node["metadata"]["name"]: labels_of(node).get(label) for node in api.all("nodes")}
    return {node: value for node, value in found.items() if value}


def left(api: Api) -> list[str]:
    """Name all that is there of any set."""
    found = [f"{plural}/{name}" for plural in KINDS for name in api.names(plural)]
    return found + [f"label of {node}" for node in labelled(api)]


def rests(manager: Manager) -> bool:
    """Tell whether nothing is due for a while."""
    (loop,) = manager.loops
    queue, now = loop.queue, asyncio.get_running_loop().time()
    busy = queue._waiting or queue._again or queue._in_work
    return not busy and all(timer.when() > now + SOON for timer in queue._timers.values())
