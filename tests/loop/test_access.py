"""The rights that are printed for a manager are those that it uses: it asks for no others, and has none in reserve."""

import contextlib
import datetime as dt
from dataclasses import replace

import pytest

from paddle_operator.api.manifest import Key, Manifest, annotations_of
from paddle_operator.control.lease import Timing
from paddle_operator.control.manager import Election, Settings
from paddle_operator.controllers import access, paddlejob
from paddle_operator.desired.paddlejob import snapshot
from paddle_operator.desired.training import abandoned
from paddle_operator.desired.training.settings import Scheduling
from support.caches import cache_backend
from support.embeddedapi import Api
from support.eventually import eventually
from support.kubelet import Kubelet
from support.managing import managed
from support.noting import Noting
from support.paddleworld import paddle_job, role

from .conftest import MARK, QUICK

LEASE = Key("default", "paddle-operator")
# No request shows these: the API server itself asks for them when a pod is made.
UNSEEN = {("paddlejobs/finalizers", "update")}


def job(name: str, **spec: object) -> Manifest:
    made = paddle_job(name, **spec)
    made["metadata"] = {"name": name, "namespace": "default"}
    return made


def printed() -> set[tuple[str, str]]:
    allowed = (*paddlejob.access(Scheduling.NONE), *access.lease_access(LEASE.name))
    rules = [found.rule() for found in allowed]
    return {(rule["resources"][0], verb) for rule in rules for verb in rule["verbs"]}


def phase(api: Api, name: str) -> str:
    return str((api.get("paddlejobs", "default", name).get("status") or {}).get("phase", ""))


async def live_through_everything(api: Api) -> None:
    """Let happen, at least once, whatever makes a manager ask for something else."""
    kubelet = Kubelet(api)
    api.fail("PATCH", "/status", 1, 409, "Conflict")
    theirs = job("theirs", worker=role(1))
    theirs["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org"]
    api.put("paddlejobs", theirs)
    api.put("paddlejobs", job("elastic", elastic=1, worker=role(2)))
    api.put("paddlejobs", job("on-hosts", intranet="Host", worker=role(1), ttlSecondsAfterFinished=0))
    api.fail("POST", "/cachebackends", 1, 409, "AlreadyExists")
    kept = cache_backend("kept", options={"idleTime": 60})
    api.put("cachebackends", kept)
    api.put("paddlejobs", job("claims", worker=role(1), cacheBackend={"name": "kept", "mountPath": "/data"}))
    own = {**kept["spec"], "mountPath": "/data"}
    api.put("paddlejobs", job("caches", worker=role(1), cacheBackend=own))
    api.put("pods", {"metadata": {"name": "blocked-worker-0", "namespace": "default"}, "spec": theirs_pod()})
    api.put("paddlejobs", job("blocked", worker=role(1)))
    await eventually(lambda: len(api.names("pods")) == 5)
    kubelet.run()
    await eventually(lambda: phase(api, "elastic") == "Running")
    api.put("paddlejobs", job("elastic", elastic=1, worker=role(1)))
    await eventually(lambda: "elastic-worker-1" not in api.names("pods"))
    await eventually(lambda: {"elastic", "on-hosts"} <= set(api.names("services")))
    before = api.get("services", "default", "elastic")["spec"]
    spoiled = dict.fromkeys(before["selector"], "another")
    api.put("services", {"metadata": {"name": "elastic", "namespace": "default"}, "spec": {"selector": spoiled}})
    await eventually(lambda: api.get("services", "default", "elastic")["spec"] == before)
    api.put("nodes", {"metadata": {"name": "node-1"}})
    api.put("pods", {"metadata": {"name": "elastic-worker-0", "namespace": "default"}, "spec": {"nodeName": "node-1"}})
    api.remove("pods", Key("default", "elastic-worker-0"))
    await eventually(lambda: len(api.names("cachebackends")) == 2)
    await eventually(lambda: annotations_of(api.get("cachebackends", "default", "kept")) != {})
    kubelet.end("on-hosts-worker-0")
    await eventually(lambda: "on-hosts" not in api.names("paddlejobs"))
    api.remove("paddlejobs", Key("default", "theirs"))
    await eventually(lambda: "theirs" not in api.names("paddlejobs"))


async def suspend(api: Api) -> None:
    """Do what is told in an event, each time in the same words."""
    api.put("paddlejobs", job("elastic", elastic=1, worker=role(1), suspend=True))
    await eventually(lambda: phase(api, "elastic") == "Suspended")
    await eventually(lambda: "Suspended" in [event["reason"] for event in api.all("events")])


async def go_on(api: Api) -> None:
    api.put("paddlejobs", job("elastic", elastic=1, worker=role(1), suspend=False))
    await eventually(lambda: phase(api, "elastic") == "Pending")


def theirs_pod() -> Manifest:
    spec: Manifest = role(1)["template"]["spec"]
    return spec


async def test_a_manager_uses_the_rights_that_it_is_given_and_no_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    elected = Settings(MARK, election=Election(LEASE, "first", Timing(retry_period=0.1)), pace=QUICK)
    controllers = [paddlejob.controller(snapshot.Settings(etcd_server="etcd:2379"))]
    async with Noting(api.config) as client:
        async with managed(client, controllers, elected):
            await live_through_everything(api)
            await suspend(api)
        async with managed(client, controllers, replace(elected, election=None)):
            await go_on(api)
            await suspend(api)
            with contextlib.suppress(AssertionError):  # the next line tells what is missing
                await eventually(lambda: client.used >= printed() - UNSEEN)
        assert client.used == printed() - UNSEEN
