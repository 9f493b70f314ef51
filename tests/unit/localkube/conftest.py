"""A cluster on paper, an empty home, and progress that nobody watches."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from localkube import spec
from localkube.paths import ClusterPaths, Home
from localkube.progress import Progress


@pytest.fixture
def cluster() -> spec.ClusterSpec:
    return spec.ClusterSpec(
        name="paper",
        ident="0123abcd",
        block="10.201.0.0/16",
        disk="20G",
        binaries="/cache/bin",
        revision="r1",
        feature_gates="",
        runtime_config="",
        nodes=spec.nodes_of("10.201.0.0/16", 2),
    )


@pytest.fixture
def paths(tmp_path: Path) -> ClusterPaths:
    return ClusterPaths("paper", tmp_path / "paper")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(state=tmp_path / "state", cache=tmp_path / "cache")


@pytest.fixture
def progress() -> Progress:
    return Progress(Console(file=io.StringIO()))
