"""Finding binaries: whose directories come first, and which programs are refused."""

from pathlib import Path

import pytest

from localkube.binaries import catalog, find

BY_NAME = {binary.name: binary for binary in catalog.BINARIES}
MAJOR, MINOR, PATCH = catalog.kubernetes_version()
RIGHT = f"echo Kubernetes v{MAJOR}.{MINOR}.{PATCH}"


def program(directory: Path, name: str, body: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_found_binary_of_the_pinned_minor_version_is_taken(tmp_path: Path) -> None:
    path = program(tmp_path, "kubelet", f"echo Kubernetes v{MAJOR}.{MINOR}.99")
    found = find.find(BY_NAME["kubelet"], {"LOCALKUBE_ASSETS": str(tmp_path)})
    assert found == find.Found(BY_NAME["kubelet"], path, (MAJOR, MINOR, 99))


def test_a_found_binary_of_another_minor_version_is_refused(tmp_path: Path) -> None:
    program(tmp_path, "kubelet", f"echo Kubernetes v{MAJOR}.{MINOR - 3}.4")
    assert find.find(BY_NAME["kubelet"], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


def test_kubectl_is_asked_for_its_own_version_and_not_the_servers(tmp_path: Path) -> None:
    answer = f'{{"clientVersion": {{"gitVersion": "v{MAJOR}.{MINOR}.1"}}}}'
    program(tmp_path, "kubectl", f"""[ "$*" = "version --client -o json" ] && echo '{answer}'""")
    found = find.find(BY_NAME["kubectl"], {"KUBEBUILDER_ASSETS": str(tmp_path)})
    assert found is not None
    assert found.version == (MAJOR, MINOR, 1)


def test_the_explicit_directory_comes_before_that_of_envtest(tmp_path: Path) -> None:
    ours = program(tmp_path / "ours", "kubelet", RIGHT)
    program(tmp_path / "envtest", "kubelet", RIGHT)
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "envtest"), "LOCALKUBE_ASSETS": str(tmp_path / "ours")}
    found = find.find(BY_NAME["kubelet"], environment)
    assert found is not None
    assert found.path == ours


def test_after_a_refused_binary_the_next_directory_is_tried(tmp_path: Path) -> None:
    program(tmp_path / "ours", "etcd", "echo etcd Version: 3.5.1")
    envtest = program(tmp_path / "envtest", "etcd", "echo etcd Version: 3.6.5")
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "envtest"), "LOCALKUBE_ASSETS": str(tmp_path / "ours")}
    found = find.find(BY_NAME["etcd"], environment)
    assert found is not None
    assert found.path == envtest


@pytest.mark.parametrize("body", [f"{RIGHT}; exit 1", "printf '\\377\\000\\376'", ":", "exec no-such-program"])
def test_a_program_that_fails_or_prints_garbage_is_refused(tmp_path: Path, body: str) -> None:
    program(tmp_path, "kubelet", body)
    assert find.find(BY_NAME["kubelet"], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


def test_a_program_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "ANSWER_LIMIT", 0.1)
    program(tmp_path, "kubelet", f"{RIGHT}\nexec sleep 60")
    assert find.find(BY_NAME["kubelet"], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    program(tmp_path, "kubelet", RIGHT).chmod(0o644)
    (tmp_path / "etcd").mkdir()
    (tmp_path / "kube-proxy").write_bytes(b"\x7fELF but of no machine")
    (tmp_path / "kube-proxy").chmod(0o755)
    for name in ("kubelet", "etcd", "kube-proxy"):
        assert find.find(BY_NAME[name], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


def test_a_program_that_leans_on_this_machines_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERSION_MANAGER", "yes")
    program(tmp_path, "kubelet", f'[ "$VERSION_MANAGER" = yes ] && {RIGHT}')
    assert find.find(BY_NAME["kubelet"], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


@pytest.mark.parametrize("name", ["coredns", "pause"])
def test_coredns_and_pause_are_always_our_own(tmp_path: Path, name: str) -> None:
    program(tmp_path, name, RIGHT)
    assert find.find(BY_NAME[name], {"LOCALKUBE_ASSETS": str(tmp_path)}) is None


def test_on_path_every_real_program_counts_and_no_script(tmp_path: Path) -> None:
    program(tmp_path / "wrappers", "kubelet", RIGHT)
    real = program(tmp_path / "real", "kubelet", "")
    real.write_bytes(b"\x7fELF...")
    other = program(tmp_path / "other", "kubelet", "")
    other.write_bytes(b"\x7fELF...")
    path = f"{tmp_path}/wrappers:{tmp_path}/none::relative:{tmp_path}/real:{tmp_path}/other"
    assert list(find.candidates("kubelet", {"PATH": path})) == [real, other]
