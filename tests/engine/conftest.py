"""What every test with a real JuiceFS has: a box of its own, a mounted volume in it, and a runtime server beside."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.enginebox import Box, Volume, missing
from support.runtimeprogram import RuntimeProgram


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    if reason := missing():
        pytest.skip(f"NO REAL JUICEFS HERE: {reason}")
    made = Box(tmp_path)
    yield made
    made.close()


@pytest.fixture
def volume(box: Box) -> Volume:
    return Volume(box)


@pytest.fixture
def server(box: Box, volume: Volume) -> RuntimeProgram:
    program = RuntimeProgram(box, volume)
    program.start()
    return program
