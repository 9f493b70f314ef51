"""What a cluster is asked to be survives a round trip to disk, and odd files are not mistaken for one."""

import dataclasses
import json
import stat
from pathlib import Path

import pytest

from localkube import errors, spec
from localkube.paths import ClusterPaths, Home


def test_a_saved_cluster_is_loaded_unchanged(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    cluster.save(tmp_path / "cluster.json")
    assert spec.load(tmp_path / "cluster.json") == cluster


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"name": "x"}', '{"nodes": [{"name": "n"}]}', "null", '{"nodes": 7}'],
    ids=["empty", "cut off", "a list", "no nodes", "half a node", "null", "a number"],
)
def test_a_file_that_is_no_cluster_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_text(text)
    assert spec.load(tmp_path / "cluster.json") is None


def test_a_file_of_a_newer_version_is_not_half_understood(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    newer = {**dataclasses.asdict(cluster), "invented_later": True}
    (tmp_path / "cluster.json").write_text(json.dumps(newer))
    assert spec.load(tmp_path / "cluster.json") is None


def test_the_network_is_read_also_from_a_file_of_another_version(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"block": "10.201.0.0/16", "invented": "later"}')
    assert spec.block_of(tmp_path / "cluster.json") == "10.201.0.0/16"
    (tmp_path / "cluster.json").write_text('{"block": "default; reboot"}')
    assert spec.block_of(tmp_path / "cluster.json") is None
    assert spec.block_of(tmp_path / "missing") is None


def test_addresses_follow_from_the_block(cluster: spec.ClusterSpec) -> None:
    assert cluster.gateway == "10.201.0.1"
    assert cluster.pods == "10.201.64.0/18"
    assert cluster.services == "10.201.128.0/17"
    assert cluster.dns_service == "10.201.128.10"
    assert cluster.server == "https://10.201.0.1:6443"
    assert [node.pod_range for node in cluster.nodes] == ["10.201.65.0/24", "10.201.66.0/24"]


def test_the_kernels_name_for_a_link_fits(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    longest = dataclasses.replace(cluster, ident=spec.ident_of(tmp_path))
    assert len(longest.link) <= 15


def test_equal_names_in_two_homes_get_different_idents(tmp_path: Path) -> None:
    assert spec.ident_of(tmp_path / "a" / "x") != spec.ident_of(tmp_path / "b" / "x")


def test_an_unknown_node_is_refused_with_the_known_ones(cluster: spec.ClusterSpec) -> None:
    with pytest.raises(errors.LocalkubeError, match="cluster paper has no node node-9; it has node-1, node-2"):
        cluster.node("node-9")


def test_a_secret_is_never_readable_by_others_not_even_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    spec.write_atomically(path, "new", 0o600)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", ["", "Upper", "under_score", "-dash", "dash-", "../up", "a/b", "9lives", "x" * 33, "a b", "ü"]
)
def test_a_name_that_could_harm_a_path_or_an_object_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="cannot name a cluster"):
        Home(tmp_path, tmp_path).cluster(name)


def test_every_directory_that_can_be_a_cluster_is_listed_and_nothing_else(tmp_path: Path) -> None:
    for entry in ("one", "two", ".three.lock", "NotMine", "other", ".four.removed"):
        (tmp_path / entry).mkdir()
    for file in ("file", "two/cluster.json", "two/kubeconfig", "other/kubeconfig", ".four.removed/kubeconfig"):
        (tmp_path / file).touch()
    assert [paths.name for paths in Home(tmp_path, tmp_path).clusters()] == ["four", "one", "two"]
    assert Home(tmp_path / "missing", tmp_path).clusters() == []


def test_a_home_whose_sockets_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALKUBE_HOME", "/" + "x" * 60)
    with pytest.raises(errors.LocalkubeError, match="longer than 40"):
        Home.from_environment()


def test_the_longest_socket_path_fits_the_kernels_limit() -> None:
    home = Home(Path("/" + "x" * 39), Path("/c"))
    longest: ClusterPaths = home.cluster("n" * 32)
    assert len(str(longest.node("node-32").socket)) < 108


def test_a_home_named_from_where_one_stands_is_the_same_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir("/var/tmp")
    monkeypatch.setenv("LOCALKUBE_HOME", "state")
    monkeypatch.setenv("LOCALKUBE_CACHE", "cache")
    home = Home.from_environment()
    monkeypatch.chdir(tmp_path)
    assert (home.state, home.cache) == (Path("/var/tmp/state"), Path("/var/tmp/cache"))
