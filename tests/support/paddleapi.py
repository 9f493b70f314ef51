"""PaddleJobs on the embedded API server: to submit, and what is to be seen of them."""

from collections.abc import Callable

from paddle_operator.api.manifest import Manifest
from paddle_operator.control.controller import Controller
from paddle_operator.controllers.paddlejob import controller
from paddle_operator.desired.paddlejob.snapshot import Settings
from support.embeddedapi import Api
from support.eventually import eventually
from support.kubelet import Kubelet
from support.paddleworld import role

PODS = ["demo-ps-0", "demo-worker-0", "demo-worker-1"]
WORKERS = PODS[1:]
PLAIN = Settings(etcd_server="etcd:2379")


def controllers(settings: Settings = PLAIN) -> list[Controller]:
    return [controller(settings)]


def job(name: str = "demo", **spec: object) -> Manifest:
    """Give one with a server and two workers, unless it is said otherwise."""
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {name: part for name, part in {"ps": role(1), "worker": role(2), **spec}.items() if part is not None},
    }


def status(api: Api, name: str = "demo", namespace: str = "default") -> Manifest:
    found: Manifest = api.get("paddlejobs", namespace, name).get("status") or {}
    return found


def stands(api: Api, phase: str, pods: list[str]) -> Callable[[], bool]:
    return lambda: status(api).get("phase") == phase and api.names("pods") == pods


def conditions(api: Api, name: str = "demo") -> dict[str, Manifest]:
    return {found["type"]: found for found in status(api, name).get("conditions", [])}


def why(api: Api, name: str = "demo", kind: str = "Running") -> str:
    """Give the reason and the message of a condition; nothing if it is not there."""
    found = conditions(api, name).get(kind)
    return "" if found is None else f"{found['reason']}: {found['message']}"


async def runs(api: Api, kubelet: Kubelet, pods: list[str] | None = None) -> None:
    wanted = PODS if pods is None else pods
    await eventually(lambda: api.names("pods") == wanted)
    kubelet.run()
    await eventually(stands(api, "Running", wanted))
