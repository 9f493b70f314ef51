"""A cluster on paper, for the pure parts."""

from pathlib import Path

import pytest

from localkube import spec
from localkube.paths import ClusterPaths


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
