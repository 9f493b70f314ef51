"""Many TFJobs that share a few caches: created, ended and deleted by chance, and who uses which cache, counted."""

import asyncio
import random

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager
from paddle_operator.controllers import cachebackend, trainingjob
from support.caches import cache_backend
from support.embeddedapi import Api
from support.kubelet import Kubelet
from support.managing import passes
from support.trainingworld import replicas, tf_job

SOON = 2.0
ENDS = ("Succeeded", "Failed")


def controllers() -> list[Controller]:
    return [cachebackend.controller(), trainingjob.controller(trainingjob.TF)]


class Crowd:
    """`caches` are made at the start, and jobs use them in turn."""

    def __init__(self, api: Api, caches: int, seed: int = 1) -> None:
        self.api = api
        self.names = [f"cache-{number}" for number in range(caches)]
        self._kubelet = Kubelet(api)
        self._chance = random.Random(seed)  # noqa: S311  # a test that can be run again
        self._submitted = 0
        for name in self.names:
            api.put("cachebackends", cache_backend(name, options={"idleTime": 3600}))

    def submit(self, number: int = 1) -> None:
        for _ in range(number):
            cache = self.names[self._submitted % len(self.names)]
            job = tf_job(
                {"Worker": replicas(1, restartPolicy="Never")}, cacheBackend={"name": cache, "mountPath": "/data"}
            )
            self.api.put("tfjobs", {**job, "metadata": {"name": f"job-{self._submitted}", "namespace": "default"}})
            self._submitted += 1

    def act(self) -> None:
        """Let one thing happen: a job comes, runs, ends well or badly, or is deleted."""
        pods, jobs = self.api.names("pods"), self.api.names("tfjobs")
        match self._chance.choice(("submit", "run", "end", "fail", "delete")):
            case "run" if pods:
                self._kubelet.run(self._chance.choice(pods))
            case "end" if pods:
                self._kubelet.end(self._chance.choice(pods))
            case "fail" if pods:
                self._kubelet.end(self._chance.choice(pods), 1)
            case "delete" if jobs:
                self.api.remove("tfjobs", Key("default", self._chance.choice(jobs)))
            case _:
                self.submit()

    def live(self, cache: str) -> list[str]:
        """Name who uses the cache, by the jobs alone."""
        return sorted(uid_of(job) for job in self.api.all("tfjobs") if self._uses(job, cache) and not has_ended(job))

    def counted(self, cache: str) -> list[str]:
        """Name who uses the cache, as its status says; it counts as many."""
        status = self.api.get("cachebackends", "default", cache).get("status") or {}
        users = sorted(user["uid"] for user in status.get("users", []))
        return users if status.get("usedNum") == len(users) == len(status.get("usedBy", [])) else ["odd"]

    def _uses(self, job: Manifest, cache: str) -> bool:
        return bool(job["spec"]["cacheBackend"]["name"] == cache)

    @property
    def is_right(self) -> bool:
        """Tell whether all is counted as it is, and each job that goes on has its pod."""
        wanted = {f"{key_of(job).name}-worker-0" for job in self.api.all("tfjobs") if not has_ended(job)}
        counted = all(self.live(name) == self.counted(name) for name in self.names)
        return counted and wanted <= set(self.api.names("pods"))


def has_ended(job: Manifest) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(found["type"] in ENDS and found["status"] == "True" for found in conditions)


def rests(manager: Manager) -> bool:
    """Tell whether nothing is due for a while; that caches may once be idle does not count."""
    soon = asyncio.get_running_loop().time() + SOON
    queues = [loop.queue for loop in manager.loops]
    busy = any(queue._waiting or queue._again or queue._in_work for queue in queues)
    return not busy and all(timer.when() > soon for queue in queues for timer in queue._timers.values())


def has_looked(manager: Manager, api: Api) -> bool:
    """Tell whether the manager knows all of it as it is, and looked at each: one that has just begun rests, too."""
    stores = {kind.plural: store for kind, store in manager.caches.stores.items()}
    kinds = {"cachebackend": "cachebackends", "tfjob": "tfjobs"}
    looked = all(passes(manager, controller) >= len(api.all(plural)) for controller, plural in kinds.items())
    return looked and all(
        {uid_of(found): version_of(found) for found in stores[plural]}
        == {uid_of(found): version_of(found) for found in api.all(plural)}
        for plural in ("cachebackends", "tfjobs", "pods", "persistentvolumeclaims")
    )


def look_again(manager: Manager, api: Api) -> None:
    """Look at everything once more."""
    for loop, plural in zip(manager.loops, ("cachebackends", "tfjobs"), strict=True):
        for found in api.all(plural):
            loop.queue.add(key_of(found))
