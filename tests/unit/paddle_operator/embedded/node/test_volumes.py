"""Volumes of pods: empty ones, and files that tell a pod of itself."""

from pathlib import Path

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.csi.places import Places
from paddle_operator.embedded.node.environment import Whereabouts
from paddle_operator.embedded.node.plugin import Plugin
from paddle_operator.embedded.node.sources import ConfigurationError, Sources
from paddle_operator.embedded.node.volumes import Volumes
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed

WHERE = Whereabouts("machine", "10.0.0.1", "10.0.0.2")


async def prepared(place: Path, volume: Manifest) -> Path:
    """Give where a pod finds the volume."""
    labels = {"b": "2", "a": "1"}
    metadata = {"name": "one", "namespace": "default", "uid": "1", "labels": labels, "annotations": {"says": 'a "b"\n'}}
    async with Client(Config("http://127.0.0.1:1", Fixed()), "tester") as client:
        made = Volumes(client, Plugin(Places(place, place), None, place / "log"), place / "disk", place / "memory")
        found = await made.prepare({"metadata": metadata, "spec": {"volumes": [volume]}}, Sources(), WHERE)
    return found[volume["name"]].path


async def written(place: Path, item: Manifest) -> str:
    """Give the file that a pod finds."""
    about = await prepared(place, {"name": "about", "downwardAPI": {"items": [{"path": "file", **item}]}})
    return (about / "file").read_text()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("metadata.name", "one", id="its name"),
        pytest.param("metadata.labels", 'a="1"\nb="2"', id="its labels"),
        pytest.param("metadata.labels['b']", "2", id="one of its labels"),
        pytest.param("metadata.annotations", r'says="a \"b\"\n"', id="its annotations"),
    ],
)
async def test_a_file_tells_what_is_known_of_its_pod_as_a_kubelet_writes_it(
    tmp_path: Path, path: str, text: str
) -> None:
    assert await written(tmp_path, {"fieldRef": {"fieldPath": path}}) == text


async def test_a_file_that_asks_for_resources_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="file asks for resources, which are not measured out here"):
        await written(tmp_path, {"resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}})


async def test_a_volume_that_says_nothing_of_itself_is_an_empty_directory(tmp_path: Path) -> None:
    assert list((await prepared(tmp_path, {"name": "scratch"})).iterdir()) == []
