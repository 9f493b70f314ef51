"""The same tests on the embedded API server and on a real one: a difference is a defect of the embedded one."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver.resources import defined
from paddle_operator.embedded.apiserver.server import Server
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Preconditions, Request, encode
from support import definition, family
from support.collected import until_collected

DEFINITIONS = Path(__file__).parents[2] / "deploy/v1/crd.yaml"
NAMESPACE = "contract"
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
CRDS = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
LONGEST_TEST = 60
PAUSE = 0.02


@functools.cache
def definitions() -> list[Manifest]:
    return [*yaml.safe_load_all(DEFINITIONS.read_text()), definition.DEFINITION]


@dataclass(frozen=True)
class Api:
    """An API server with a namespace for this test alone; `other` knows a second name for its fields' manager.

    `define` has a kind served by a definition, be it the first or another one, soon after. `forget` drops the history;
    of a kind that was defined later a real server has none from its first days.
    """

    client: Client
    other: Client
    namespace: str
    define: Callable[[Manifest], Awaitable[None]]
    forget: Callable[[], None] = lambda: None

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    def config_map(self, name: str = "one", **data: str) -> Manifest:
        return {"metadata": {"name": name, "namespace": self.namespace}, "data": data}

    def placed(self, manifest: Manifest) -> Manifest:
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}

    async def post(self, kind: Kind, manifest: Manifest, **params: str) -> Manifest:
        """Create with parameters that the client does not use."""
        params = {"fieldManager": self.client.field_manager, **params}
        body = encode({**self.placed(manifest), **kind.identity})
        return await self.client.send(Request("POST", kind.collection(self.namespace), params, body))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(LONGEST_TEST))


@pytest.fixture(scope="session")
def real(kube: Cluster) -> Cluster:
    """Give the cluster once its API server serves our kinds."""
    kubectl = Kubectl.of(kube)
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.apply(definition.DEFINITION)
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    wait_until(lambda: "parents" in kubectl.run("api-resources", "--api-group=example.org"), 90, "not served")
    return kube


@pytest.fixture(scope="session")
def collecting(real: Cluster) -> None:
    """Have a garbage collector that knows the kind of the tiny controller."""
    until_collected(Kubectl.of(real), family.parent("forerunner"))


@pytest.fixture
async def embedded() -> AsyncIterator[Api]:
    async with (
        Server(definitions()).running() as server,
        Client(server.config, "tester") as client,
        Client(server.config, "other") as other,
    ):

        async def define(crd: Manifest) -> None:
            server.objects.redefine(defined(crd))

        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        yield Api(client, other, NAMESPACE, define, server.objects.storage.forget)


@pytest.fixture
async def genuine(real: Cluster, namespace: Kubectl) -> AsyncIterator[Api]:
    where = config.load(str(real.paths.kubeconfig))
    made: set[Key] = set()
    async with Client(where, "tester") as client, Client(where, "other") as other:

        async def define(crd: Manifest) -> None:
            made.add(key_of(await client.apply(CRDS, crd)))

        yield Api(client, other, namespace.namespace, define)
        for key in made:
            await client.delete(CRDS, key, Preconditions())


@pytest.fixture(params=["embedded", pytest.param("genuine", marks=pytest.mark.cluster)])
def api(request: pytest.FixtureRequest) -> Api:
    served: Api = request.getfixturevalue(request.param)
    return served


async def gone(client: Client, kind: Kind, key: Key) -> None:
    """Wait until an object is there no more."""
    async with asyncio.timeout(LONGEST_TEST / 2):
        while True:
            try:
                await client.get(kind, key)
            except errors.NotFoundError:
                return
            await asyncio.sleep(PAUSE)
