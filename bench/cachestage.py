"""A namespace of the real API server: TFJobs that share caches come, run, end and go, and who uses which is known."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from jobstage import ACCOUNTS, CONNECTIONS, NAMESPACES, until_found
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.metrics import Metrics
from paddle_operator.control.store import Store
from paddle_operator.controllers.cachebackend import CLAIMS
from paddle_operator.controllers.kinds import CACHE_BACKENDS, TF_JOBS
from paddle_operator.desired.cachebackend.naming import cache_of
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import PODS, Kind, Scope
from paddle_operator.kube.watch import Sink, Watch
from pretendedfluid import ANY, DATASETS, PretendedFluid
from support.caches import FLUID, SOURCE
from support.crowd import has_ended

SPACE = "caches"
ACTS = (*("submit", "run", "end", "delete") * 4, "fail", "fail", "drain")
IDLE_SECONDS = 2
AT_ONCE = 8
OVER = ("Succeeded", "Failed")


def tf_job(name: str, cache: str) -> Manifest:
    """Give a job that describes its cache, so that one that went comes back with the next job."""
    wanted = {"name": cache, "mountPath": "/data", "dataset": {"dataSources": [SOURCE]}, "cacheEngine": FLUID}
    container = {"name": "tensorflow", "image": "localhost/train:none", "command": ["train"]}
    worker = {"restartPolicy": "Never", "template": {"spec": {"schedulerName": "nobody", "containers": [container]}}}
    spec = {"cacheBackend": {**wanted, "options": {"idleTime": IDLE_SECONDS}}, "tfReplicaSpecs": {"Worker": worker}}
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": spec}


@dataclass
class Findings:
    """What was seen to be wrong, or late: `behind` is since when a use of a cache is not counted as it is."""

    acts: int = 0
    given_up: int = 0
    taken_away: list[str] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set)
    longest: float = 0.0
    behind: dict[tuple[str, str], float] = field(default_factory=dict)


class Stage:
    def __init__(self, client: Client, caches: int) -> None:
        self.names = [f"cache-{number}" for number in range(caches)]
        self.jobs, self.caches, self.pods, self.claims = Store(), Store(), Store(), Store()
        self.found = Findings()
        self._client = client
        self._chance = random.Random()  # noqa: S311  # which order things happen in
        self._submitted = 0
        self._sleeping: dict[str, float] = {}
        self._users: dict[str, set[str]] = {name: set() for name in self.names}
        self._asking: set[asyncio.Task[None]] = set()
        self._gone: set[str] = set()
        self.claims.listen(self._see_claim)

    async def submit(self, number: int = 1, cache: str = "") -> None:
        gate = asyncio.Semaphore(CONNECTIONS)

        async def send() -> None:
            self._submitted += 1
            name, chosen = f"job-{self._submitted}", cache or self.names[self._submitted % len(self.names)]
            async with gate:
                made = await self._client.create(TF_JOBS, tf_job(name, chosen))
            self._users[chosen].add(uid_of(made))

        await asyncio.gather(*(send() for _ in range(number)))

    async def act(self) -> None:
        """Let one thing happen; what it would happen to may just have gone."""
        self.found.acts += 1
        pods = [key_of(pod) for pod in self.pods if not is_over(pod)]
        with contextlib.suppress(errors.NotFoundError):
            match self._chance.choice(ACTS):
                case "run" if pods:
                    await self._say(self._chance.choice(pods), "Running")
                case "end" if pods:
                    await self._say(self._chance.choice(pods), "Succeeded")
                case "fail" if pods:
                    await self._say(self._chance.choice(pods), "Failed")
                case "delete" if len(self.jobs):
                    await self._client.delete(TF_JOBS, key_of(self._chance.choice(list(self.jobs))), ANY)
                case "drain":
                    await self._drain(self._chance.choice(self.names))
                case _:
                    await self.submit(self._chance.randint(1, AT_ONCE), self._chance.choice(self._awake()))

    def _awake(self) -> list[str]:
        now = time.monotonic()
        return [name for name in self.names if self._sleeping.get(name, now) <= now] or self.names

    async def _drain(self, cache: str) -> None:
        """Let all of a cache's jobs go, and none come for about as long as it is kept then."""
        self._sleeping[cache] = time.monotonic() + self._chance.uniform(0.5, 2.5) * IDLE_SECONDS
        for job in [job for job in self.jobs if cache_of(job) == Key(SPACE, cache) and not has_ended(job)]:
            with contextlib.suppress(errors.NotFoundError):
                await self._client.delete(TF_JOBS, key_of(job), ANY)

    async def _say(self, pod: Key, phase: str) -> None:
        state = {"terminated": {"exitCode": int(phase == "Failed")}} if phase in OVER else {"running": {}}
        container = {"name": "tensorflow", "image": "none", "imageID": "", "restartCount": 0, "state": state}
        status = {"phase": phase, "containerStatuses": [{**container, "ready": phase == "Running"}]}
        await self._client.patch(PODS, pod, {"status": status}, subresource="status")

    def live(self) -> dict[str, set[str]]:
        """Name who uses each cache, by the jobs alone."""
        users: dict[str, set[str]] = {name: set() for name in self.names}
        for job in self.jobs:
            if (key := cache_of(job)) is not None and not has_ended(job):
                users[key.name].add(uid_of(job))
        return users

    def counted(self, cache: str) -> set[str]:
        """Name who uses the cache, as its status says; what does not agree with itself counts as a stranger."""
        status = (self.caches.get(Key(SPACE, cache)) or {}).get("status") or {}
        users = {user["uid"] for user in status.get("users", [])}
        return users if status.get("usedNum", 0) == len(status.get("usedBy", [])) == len(users) else {"odd"}

    @property
    def wrong(self) -> list[str]:
        return [name for name, users in self.live().items() if users != self.counted(name)]

    @property
    def is_settled(self) -> bool:
        """Tell whether all is counted as it is, each job that goes on has its pod, and what nobody uses is gone."""
        jobs = [job for job in self.jobs if not has_ended(job)]
        pods = {key_of(pod).name for pod in self.pods if not is_over(pod)}
        kept = {key_of(cache).name for cache in self.caches} - {name for name, users in self.live().items() if users}
        return not self.wrong and {f"{key_of(job).name}-worker-0" for job in jobs} == pods and not kept

    def look(self) -> None:
        """Note which uses are not counted yet, and which are still, and since when."""
        now, found = time.monotonic(), self.found
        late = {(name, uid) for name, users in self.live().items() for uid in users ^ self.counted(name)}
        found.behind = {use: found.behind.get(use, now) for use in late}
        found.longest = max([found.longest, *(now - since for since in found.behind.values())])
        for name in self.names:
            found.strangers |= self.counted(name) - self._users[name]

    def _see_claim(self, claim: Manifest) -> None:
        """Ask, when a claim goes, for the pods that were there before: those of live jobs must not be."""
        going = "deletionTimestamp" in claim["metadata"]
        if not going or uid_of(claim) in self._gone:
            return
        self._gone.add(uid_of(claim))
        self.found.given_up += 1
        cache = key_of(claim)
        jobs = [job for job in self.jobs if cache_of(job) == cache and not has_ended(job)]
        for pod in (self.pods.get(Key(SPACE, f"{key_of(job).name}-worker-0")) for job in jobs):
            if pod is not None and not is_over(pod):
                task = asyncio.get_running_loop().create_task(self._verify(cache, pod))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    async def _verify(self, cache: Key, pod: Manifest) -> None:
        """Trust the API server alone: what we had seen may have ended before the claim went."""
        with contextlib.suppress(errors.NotFoundError):
            job = await self._client.get(TF_JOBS, Key(SPACE, key_of(pod).name.removesuffix("-worker-0")))
            now = await self._client.get(PODS, key_of(pod))
            if uid_of(now) == uid_of(pod) and not is_over(now) and not has_ended(job):
                self.found.taken_away.append(f"{cache.name} from {key_of(job).name}")


def is_over(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"] or (pod.get("status") or {}).get("phase") in OVER


@contextlib.asynccontextmanager
async def staged(client: Client, caches: int) -> AsyncIterator[Stage]:
    """Have the namespace, with the account without which it takes no pods, and watch it."""
    await client.create(NAMESPACES, {"metadata": {"name": SPACE}})
    await until_found(lambda: client.get(ACCOUNTS, Key(SPACE, "default")))
    stage = Stage(client, caches)
    sinks: dict[Kind, Sink] = {TF_JOBS: stage.jobs, CACHE_BACKENDS: stage.caches, PODS: stage.pods}
    sinks |= {CLAIMS: stage.claims, DATASETS: PretendedFluid(client)}
    watches = [
        asyncio.create_task(Watch(client, Scope(kind, SPACE), sink, Metrics()).run()) for kind, sink in sinks.items()
    ]
    try:
        yield stage
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
