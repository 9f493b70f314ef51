"""The embedded API server and the real one side by side: their words, and the data that one has of the other."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.api.crd import KINDS
from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.server import Server
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Request, encode
from support import published
from support.manifests import changed, circulating
from support.refusals import REFUSED

DEFINITIONS = Path(__file__).parents[2] / "deploy/v1/crd.yaml"


@pytest.fixture
async def both(kube: Cluster) -> AsyncIterator[tuple[Client, Client]]:
    kubectl = Kubectl.of(kube)
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))
    async with (
        Server(yaml.safe_load_all(DEFINITIONS.read_text())).running() as server,
        Client(config.load(str(kube.paths.kubeconfig)), "tester") as real,
        Client(server.config, "tester") as embedded,
    ):
        yield real, embedded


async def refusal(client: Client, manifest: Manifest) -> Manifest:
    definition = next(kind.definition for kind in KINDS if kind.definition.kind == manifest["kind"])
    kind = Kind(definition.group, definition.version, definition.plural, definition.kind)
    body = encode({**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}})
    with pytest.raises(errors.InvalidError) as refused:
        await client.send(Request("POST", kind.collection("default"), {"dryRun": "All"}, body))
    return refused.value.status


async def test_both_refuse_with_the_same_words(both: tuple[Client, Client]) -> None:
    real, embedded = both
    for wrong, (name, changes, _) in REFUSED.items():
        manifest = changed(circulating(name), changes)
        assert await refusal(embedded, manifest) == await refusal(real, manifest), wrong


async def test_the_schemas_of_core_resources_are_those_that_the_real_one_publishes(
    both: tuple[Client, Client],
) -> None:
    real, _ = both
    found = {path: await real.send(Request("GET", path)) for path in published.PATHS}
    assert published.FILE.read_text() == published.text(found.__getitem__)
