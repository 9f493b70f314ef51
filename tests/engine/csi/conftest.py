"""A node whose plugin runs, shared by the tests of a file, and a volume that no other test has."""

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import juicefs
from support.csinode import PASSWORD, Node, Volume
from support.juicefs import Redis

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    juicefs.require()
    with juicefs.redis(tmp_path_factory.mktemp("redis"), PASSWORD) as served:
        yield served


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Give a directory with a short name: a socket's path has 107 characters at most."""
    with tempfile.TemporaryDirectory(prefix="csi-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def shared(redis: Redis, place: Path) -> Iterator[Node]:
    del redis
    with Node(place).running() as made:
        yield made


@pytest.fixture
def node(shared: Node) -> Iterator[Node]:
    """Give a node without volumes, whose plugin runs; who fails is shown what the plugin said meanwhile."""
    said = shared.log.stat().st_size if shared.log.exists() else 0
    shared.start_plugin()
    yield shared
    shared.clear()
    sys.stdout.write(f"--- the plugin's log\n{shared.log.read_bytes()[said:].decode(errors='replace')}")


@pytest.fixture
def volume(redis: Redis, place: Path) -> Volume:
    return Volume(redis, place, next(NUMBERS))


@pytest.fixture
def other_volume(redis: Redis, place: Path) -> Volume:
    return Volume(redis, place, next(NUMBERS))
