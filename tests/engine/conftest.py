"""What every test with a real JuiceFS has: a volume that is mounted, and a runtime server beside it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from paddle_operator.embedded import ending
from paddle_operator.embedded.statedir import StateDirectory
from support import juicefs, paddlevenv
from support.enginebox import AREA, Box, Volume, made_box
from support.onemachine import OneMachine
from support.runtimeprogram import RuntimeProgram

METADATA = AREA / "metaurl"


class World(NamedTuple):
    volume: Volume
    server: RuntimeProgram


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End with the files that ask with kubectl: it may still be in the making."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.engine)
    last = {item.path for item in ours if isinstance(item, pytest.Function) and hasattr(item.module, "kubectl")}
    items.sort(key=lambda item: item.path in last)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Have what most tests share: starting it takes longer than they do."""
    with made_box(tmp_path_factory.mktemp("world")) as box:
        volume = Volume(box)
        box.inside(AREA / "source").mkdir()
        server = RuntimeProgram(box, volume, f"--source-dirs={AREA}/source")
        server.start()
        yield World(volume, server)


@pytest.fixture(scope="session")
def metadata_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Have the same with metadata that the server may read, in a Redis."""
    place = tmp_path_factory.mktemp("metadata")
    with juicefs.redis(place / "redis", "hush") as redis, made_box(place) as box:
        volume = Volume(box, meta=redis.address(0))
        box.inside(METADATA).write_text(f"{redis.address(0)}\n")
        server = RuntimeProgram(box, volume, f"--metadata-file={METADATA}")
        server.start()
        yield World(volume, server)


@pytest.fixture
def volume(world: World) -> Volume:
    """Give the shared volume, empty."""
    world.volume.empty()
    return world.volume


@pytest.fixture
def source(world: World) -> Path:
    """Give the directory that the shared server may copy from, empty."""
    place = world.volume.box.inside(AREA / "source")
    shutil.rmtree(place)
    place.mkdir()
    return place


@pytest.fixture
def server(world: World) -> RuntimeProgram:
    """Give the shared server, to which the test's operations are new."""
    world.server.renew()
    return world.server


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """Give a place of the test's own, to break things in."""
    with made_box(tmp_path) as made:
        yield made


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[OneMachine]:
    """Give this machine as a node, with a state directory that goes with the test."""
    juicefs.require()
    made = OneMachine(tmp_path)
    yield made
    ending.remove(StateDirectory(made.state))


@pytest.fixture(scope="session")
def paddle() -> Path:
    """Give a virtual environment with PaddlePaddle."""
    return paddlevenv.required()
