"""The catalog of binaries: versions come from the Go module, and decide what is accepted."""

import platform
import re
import shutil
from pathlib import Path

import pytest

from localkube import errors
from localkube.binaries import catalog

BY_NAME = {binary.name: binary for binary in catalog.BINARIES}
MAJOR, MINOR, PATCH = catalog.kubernetes_version()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "go"
    shutil.copytree(catalog.MODULE, copy)
    monkeypatch.setattr(catalog, "MODULE", copy)
    return copy


def test_the_versions_are_those_of_the_module(module: Path) -> None:
    (module / "go.mod").write_text("module m\n\ngo 1.30\n\nrequire (\n\tk8s.io/kubernetes v1.40.2 // indirect\n)\n")
    assert catalog.kubernetes_version() == (1, 40, 2)
    assert catalog.go_version() == (1, 30, 0)


def test_a_damaged_module_is_told_in_a_sentence(module: Path) -> None:
    (module / "go.mod").write_text("")
    with pytest.raises(errors.LocalkubeError, match="is damaged: install localkube again"):
        catalog.kubernetes_version()


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "coredns/main.go", "pause/main.go"])
def test_another_source_gives_another_key(module: Path, file: str) -> None:
    before = catalog.key()
    with (module / file).open("a") as source:
        source.write("\n// changed\n")
    assert catalog.key() != before


def test_the_key_tells_version_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert re.fullmatch(rf"v{MAJOR}\.{MINOR}\.{PATCH}-[0-9a-f]{{10}}-arm64", catalog.key())


@pytest.mark.parametrize(
    ("name", "said", "version"),
    [
        ("kubelet", "Kubernetes v1.35.4\n", (1, 35, 4)),
        ("kubelet", "Kubernetes v1.35.4+k3s1\n", (1, 35, 4)),
        ("kubelet", "Kubernetes v1.36.0-alpha.1\n", None),
        ("kubectl", '{"clientVersion": {"gitVersion": "v1.35.4"}, "kustomizeVersion": "v5.7.1"}', (1, 35, 4)),
        ("kubectl", '{"clientVersion": {"gitVersion": "v1.35.4-dispatcher"}}', None),
        ("etcd", "etcd Version: 3.6.16\nGo Version: go1.26.8\n", (3, 6, 16)),
        ("etcd", "etcd Version: 3.6.0-rc.1\nGo Version: go1.26.8\n", None),
        ("etcd", "go1.26.8 v3.6.16", None),
        ("kubelet", "\x00\ufffd garbage", None),
    ],
)
def test_a_program_tells_its_version(name: str, said: str, version: catalog.Version | None) -> None:
    assert BY_NAME[name].version_in(said) == version


@pytest.mark.parametrize(
    ("name", "version", "accepted"),
    [
        ("kubelet", (MAJOR, MINOR, 0), True),
        ("kubelet", (MAJOR, MINOR, PATCH + 1), True),
        ("kubelet", (MAJOR, MINOR - 1, PATCH), False),
        ("kubelet", (MAJOR, MINOR + 1, PATCH), False),
        ("etcd", (3, 5, 21), False),
        ("etcd", (3, 6, 0), True),
        ("etcd", (3, 7, 1), True),
        ("etcd", (4, 0, 0), False),
    ],
)
def test_only_versions_that_fit_are_accepted(name: str, version: catalog.Version, accepted: object) -> None:
    assert BY_NAME[name].accepts(version) is accepted


def test_what_is_missing_is_what_is_no_file(tmp_path: Path) -> None:
    for binary in catalog.BINARIES:
        (tmp_path / binary.name).touch()
    (tmp_path / "etcd").unlink()
    (tmp_path / "pause").unlink()
    (tmp_path / "pause").symlink_to("nowhere")
    assert [binary.name for binary in catalog.missing(tmp_path)] == ["etcd", "pause"]
