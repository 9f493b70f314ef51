"""What stays from one run to the next."""

import asyncio
import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.embedded import journal
from paddle_operator.embedded.apiserver.deletion import Deletion
from paddle_operator.embedded.apiserver.objects import Objects, Options
from paddle_operator.embedded.apiserver.server import Server
from paddle_operator.embedded.journal import Journal

SPEC: Manifest = {"partitions": 1, "noSync": True, "secretRef": {"name": "data"}}


async def begun(place: Path) -> Objects:
    """Give the objects of a new run."""
    server = Server([crd.v1(SampleSet)])
    Journal(place).resume(server.objects)
    return server.objects


def create(objects: Objects, group: str, version: str, plural: str, manifest: Manifest) -> Manifest:
    resource = objects.catalogue.at(group, version, plural)
    assert resource is not None
    return objects.create(resource, "default", manifest, Options())


def names(objects: Objects, plural: str) -> list[str]:
    (resource,) = [found for found in objects.catalogue if found.kind.plural == plural]
    return [found["metadata"]["name"] for found in objects.storage.items(resource.kind)]


def test_a_data_set_keeps_its_identity(tmp_path: Path) -> None:
    first = asyncio.run(begun(tmp_path / "objects"))
    made = create(first, *SAMPLE_SETS, {"metadata": {"name": "data"}, "spec": SPEC})
    second = asyncio.run(begun(tmp_path / "objects"))
    resource = second.catalogue.at(*SAMPLE_SETS)
    assert resource is not None
    assert second.storage.get(resource.kind, Key("default", "data"))["metadata"]["uid"] == made["metadata"]["uid"]


SAMPLE_SETS = (SampleSet.definition.group, SampleSet.definition.version, SampleSet.definition.plural)


def test_pods_do_not_outlive_a_run(tmp_path: Path) -> None:
    first = asyncio.run(begun(tmp_path / "objects"))
    pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "demo"}]}}
    create(first, "", "v1", "pods", pod)
    create(first, "", "v1", "secrets", {"metadata": {"name": "keys"}})
    second = asyncio.run(begun(tmp_path / "objects"))
    assert names(second, "pods") == []
    assert names(second, "secrets") == ["keys"]


def test_what_was_deleted_stays_deleted(tmp_path: Path) -> None:
    first = asyncio.run(begun(tmp_path / "objects"))
    create(first, "", "v1", "secrets", {"metadata": {"name": "keys"}})
    resource = first.catalogue.at("", "v1", "secrets")
    assert resource is not None
    first.delete(resource, Key("default", "keys"), Deletion())
    assert names(asyncio.run(begun(tmp_path / "objects")), "secrets") == []


def test_a_line_that_was_cut_short_is_as_if_it_had_never_been_written(tmp_path: Path) -> None:
    place = tmp_path / "objects"
    first = asyncio.run(begun(place))
    for name in ("one", "two"):
        create(first, "", "v1", "secrets", {"metadata": {"name": name}})
    place.write_bytes(place.read_bytes()[:-20])
    second = asyncio.run(begun(place))
    assert names(second, "secrets") == ["one"]
    create(second, "", "v1", "secrets", {"metadata": {"name": "three"}})
    assert names(asyncio.run(begun(place)), "secrets") == ["one", "three"]


@contextlib.contextmanager
def room(place: Path, size: int) -> Iterator[None]:
    """Let no file of this process become longer than this one is and so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.stat().st_size + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [pytest.param(20, id="half a line"), pytest.param(0, id="nothing")])
def test_on_a_full_disk_nothing_is_half_written_and_all_is_when_there_is_room_again(tmp_path: Path, size: int) -> None:
    place = tmp_path / "objects"
    first = asyncio.run(begun(place))
    create(first, "", "v1", "secrets", {"metadata": {"name": "one"}})
    with room(place, size):
        create(first, "", "v1", "secrets", {"metadata": {"name": "two"}})
    assert len(list(journal.read(place))) == place.read_bytes().count(b"\n") == 1
    create(first, "", "v1", "secrets", {"metadata": {"name": "three"}})
    assert names(asyncio.run(begun(place)), "secrets") == ["one", "three", "two"]


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    asyncio.run(begun(tmp_path / "objects"))
    assert (tmp_path / "objects").stat().st_mode & 0o077 == 0
