"""Files for one machine: what cannot work is refused before anything is changed, in the API server's words."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from paddle_operator.api import crd
from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded import manifests
from paddle_operator.embedded.apiserver.server import Server
from paddle_operator.embedded.follow import Follower, RefusedError
from paddle_operator.embedded.manifests import ManifestError
from paddle_operator.embedded.node.logs import Logs
from paddle_operator.embedded.session import Session
from paddle_operator.kube.client import Client
from support.manifests import changed, circulating
from support.refusals import REFUSED


@pytest.fixture
async def follower(tmp_path: Path) -> AsyncIterator[Follower]:
    async with Server(map(crd.v1, crd.KINDS)).running() as server, Client(server.config, "tester") as client:
        yield Follower(Session(server, client, Logs(tmp_path, server.objects)))


async def refused(follower: Follower, manifest: Manifest) -> str:
    with pytest.raises(RefusedError) as refusal:
        await follower.apply([manifest])
    return str(refusal.value)


async def test_all_that_cannot_work_is_refused_in_the_api_servers_words(follower: Follower) -> None:
    for wrong, (name, changes, words) in REFUSED.items():
        assert words in await refused(follower, changed(circulating(name), changes)), wrong


async def test_a_field_that_nobody_defined_is_refused_also_on_what_is_there(follower: Follower) -> None:
    good = circulating("SampleSet/imagenet")
    bad = changed(good, {"spec.partition": 3})
    told = [await refused(follower, bad)]
    await follower.apply([good])
    told.append(await refused(follower, bad))
    assert all('strict decoding error: unknown field "spec.partition"' in words for words in told)


async def test_a_kind_that_is_not_served_is_refused(follower: Follower) -> None:
    bad = {"apiVersion": "apps/v1", "kind": "Deploiment", "metadata": {"name": "one"}}
    assert await refused(follower, bad) == 'no matches for kind "Deploiment" in version "apps/v1"'


@pytest.mark.parametrize("wrong", REFUSED)
def test_whatever_is_wrong_a_file_is_read_or_refused_in_words(tmp_path: Path, wrong: str) -> None:
    name, changes, _ = REFUSED[wrong]
    file = tmp_path / "file.yaml"
    file.write_text(yaml.safe_dump(changed(circulating(name), changes)))
    with contextlib.suppress(ManifestError):
        assert manifests.read(file)
