"""A namespace of the real API server: crews are put there, seen to become complete, and writes are counted."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

from crews import crew
from crews.moments import Moments
from localkube.api import Api
from localkube.cluster import Cluster
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.control.metrics import Metrics
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Scope
from paddle_operator.kube.watch import Watch

CREWS = Kind(crew.GROUP, crew.VERSION, crew.PLURAL, crew.KIND)
CRDS = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
CONNECTIONS = 16
WRITES = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
WRITING = re.compile(r'verb="(?:POST|PUT|PATCH|APPLY|DELETE)"')
# A lease is not among them: it is renewed as long as a manager lives.
WRITTEN = re.compile(r'\bresource="(?:crews|pods|configmaps|events)"')


class Audience:
    """Sees when each crew is complete."""

    def __init__(self) -> None:
        self.complete: Moments[Key] = Moments()

    def replace(self, items: list[Manifest]) -> None:
        for item in items:
            self.put(item)

    def put(self, manifest: Manifest) -> None:
        if crew.is_complete(manifest):
            self.complete.mark(key_of(manifest))

    def remove(self, manifest: Manifest) -> None:
        """Crews stay."""


class Stage:
    def __init__(self, client: Client, api: Api, namespace: str) -> None:
        self.namespace = namespace
        self.audience = Audience()
        self._client = client
        self._api = api

    @property
    def writes(self) -> int:
        """Count what the API server was asked to write so far, by whomever, to whatever end."""
        counted = WRITES.findall(self._api.request("GET", "/metrics"))
        return sum(int(float(n)) for labels, n in counted if WRITING.search(labels) and WRITTEN.search(labels))

    async def submit(self, names: list[str]) -> set[Key]:
        """Send them all at once, over as many connections as keep the API server busy."""
        gate = asyncio.Semaphore(CONNECTIONS)

        async def send(name: str) -> Key:
            async with gate:
                return key_of(await self._client.create(CREWS, crew.crew(name, self.namespace)))

        return set(await asyncio.gather(*map(send, names)))

    async def prepare(self) -> None:
        """Have the namespace, and the account without which it takes no pods."""
        await self._client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        while True:
            with contextlib.suppress(errors.NotFoundError):
                await self._client.get(ACCOUNTS, Key(self.namespace, "default"))
                return
            await asyncio.sleep(0.1)


async def serve_crews(client: Client) -> None:
    """Make the kind known, and wait until the API server answers for it."""
    await client.apply(CRDS, crew.CRD)
    while True:
        with contextlib.suppress(errors.NotFoundError):
            await client.list(Scope(CREWS))
            return
        await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Client]:
    async with Client(config.load(str(cluster.paths.kubeconfig)), "bench") as client:
        yield client


@contextlib.asynccontextmanager
async def stage(client: Client, api: Api, namespace: str) -> AsyncIterator[Stage]:
    made = Stage(client, api, namespace)
    await made.prepare()
    watching = asyncio.create_task(Watch(client, Scope(CREWS, namespace), made.audience, Metrics()).run())
    try:
        yield made
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
