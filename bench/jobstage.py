"""A namespace of the real API server: PaddleJobs are put there, seen to become complete, and requests are counted."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import yaml

from crews.moments import Moments
from localkube.api import Api
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.control.metrics import Metrics
from paddle_operator.controllers.kinds import PADDLE_JOBS
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import PODS, Kind, Scope
from paddle_operator.kube.watch import Watch

DEFINITIONS = Path(__file__).parents[1] / "deploy/v1/crd.yaml"
CRDS = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
CONNECTIONS = 16
# The longest that anything is waited for; what takes longer is given up.
PATIENCE = 180.0
PAUSE = 0.1
ROLES = {"ps": 1, "worker": 2}
ASKED = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
OURS = re.compile(r'\bresource="(?:paddlejobs|pods|configmaps|services|events)"')
WRITES = re.compile(r'verb="(?:POST|PUT|PATCH|APPLY|DELETE)"')
READS = re.compile(r'verb="(?:GET|LIST)"')


def paddle_job(name: str, namespace: str) -> Manifest:
    container: Manifest = {"name": "train", "image": "localhost/train:none", "command": ["python3", "-m", "train"]}
    container |= {"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    template = {"spec": {"schedulerName": "nobody", "containers": [container]}}
    spec = {role: {"replicas": replicas, "template": template} for role, replicas in ROLES.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def is_complete(job: Manifest) -> bool:
    status = job.get("status") or {}
    return all(len((status.get(role) or {}).get("refs") or []) == replicas for role, replicas in ROLES.items())


class Audience:
    """Sees when each object has become what is waited for."""

    def __init__(self, is_there: Callable[[Manifest], bool]) -> None:
        self.seen: Moments[Key] = Moments()
        self._is_there = is_there

    def replace(self, items: list[Manifest]) -> None:
        for item in items:
            self.put(item)

    def put(self, manifest: Manifest) -> None:
        if self._is_there(manifest):
            self.seen.mark(key_of(manifest))

    def remove(self, manifest: Manifest) -> None:
        """Take no notice: what was seen was seen."""


class Stage:
    """A namespace of the real API server."""

    def __init__(self, client: Client, api: Api, namespace: str) -> None:
        self.namespace = namespace
        self.jobs = Audience(is_complete)
        self.pods = Audience(lambda _: True)
        self._client = client
        self._api = api

    def asked(self, verbs: re.Pattern[str]) -> int:
        """Count what the API server was asked so far, by whomever."""
        counted = ASKED.findall(self._api.request("GET", "/metrics"))
        return sum(int(float(number)) for labels, number in counted if verbs.search(labels) and OURS.search(labels))

    async def submit(self, names: list[str]) -> None:
        gate = asyncio.Semaphore(CONNECTIONS)

        async def send(name: str) -> None:
            async with gate:
                await self._client.create(PADDLE_JOBS, paddle_job(name, self.namespace))

        await asyncio.gather(*map(send, names))

    async def fill(self, names: list[str]) -> tuple[float, float]:
        """Submit them, and give the seconds to the last pod and to the last complete status."""
        jobs = {Key(self.namespace, name) for name in names}
        pods = {
            Key(self.namespace, f"{name}-{role}-{number}")
            for name in names
            for role, replicas in ROLES.items()
            for number in range(replicas)
        }
        async with asyncio.timeout(PATIENCE):
            begun = time.monotonic()
            await self.submit(names)
            return await self.pods.seen.last_of(pods) - begun, await self.jobs.seen.last_of(jobs) - begun


@contextlib.asynccontextmanager
async def staged(client: Client, api: Api, namespace: str) -> AsyncIterator[Stage]:
    """Have a namespace, with the account without which it takes no pods, and watch it."""
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    await until_found(lambda: client.get(ACCOUNTS, Key(namespace, "default")))
    stage = Stage(client, api, namespace)
    watches = [
        asyncio.create_task(Watch(client, Scope(kind, namespace), audience, Metrics()).run())
        for kind, audience in ((PADDLE_JOBS, stage.jobs), (PODS, stage.pods))
    ]
    try:
        yield stage
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def serve_kinds(client: Client) -> None:
    """Make our kinds known, and wait until the API server answers for them."""
    for definition in yaml.safe_load_all(DEFINITIONS.read_text()):
        await client.apply(CRDS, definition)
    await until_found(lambda: client.list(Scope(PADDLE_JOBS)))


async def until_found(ask: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(errors.NotFoundError):
                await ask()
                return
            await asyncio.sleep(PAUSE)
