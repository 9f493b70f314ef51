"""SampleJobs on the loop: quick controllers, small jobs to submit, and what is to be seen of them."""

from collections.abc import Callable
from dataclasses import replace

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.controller import Controller
from paddle_operator.controllers import samplejob
from support import sampleloop
from support.embeddedapi import Api

JOB = Key("default", "work")


def controllers() -> list[Controller]:
    """Give the controllers of sets and of jobs."""
    made = samplejob.controller()
    quick = replace(made, triggers=tuple(replace(trigger, settle=0.0) for trigger in made.triggers))
    return [*sampleloop.controllers(), quick]


def job(type_: str = "warmup", name: str = "work", **spec: object) -> Manifest:
    wanted = {"type": type_, "sampleSetRef": {"name": "imagenet"}, **spec}
    if type_ == "sync":
        wanted.setdefault("secretRef", {"name": "imagenet"})
    if type_ == "rmr":
        wanted.setdefault("rmrOptions", {"paths": ["train/n01514859"]})
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {field: part for field, part in wanted.items() if part is not None},
    }


def status(api: Api, name: str = "work") -> Manifest:
    found: Manifest = api.get("samplejobs", "default", name).get("status") or {}
    return found


def stands(api: Api, phase: str, name: str = "work") -> Callable[[], bool]:
    return lambda: status(api, name).get("phase", "") == phase


def why(api: Api, name: str = "work", kind: str = "Succeeded") -> str:
    found = [one for one in status(api, name).get("conditions", []) if one["type"] == kind]
    return "".join(f"{one['reason']}: {one['message']}" for one in found)


def parts(api: Api, name: str = "work") -> list[str]:
    return [str(found.get("phase", "")) for found in status(api, name).get("results", [])]
