"""All binaries in one directory: found, built, kept, and shared by processes that want them at once."""

import fcntl
import io
import os
import shutil
import threading
from pathlib import Path

import pytest
from rich.console import Console

from localkube import binaries, errors, preflight
from localkube.binaries import catalog
from localkube.paths import Home
from localkube.progress import Progress

NAMES = {
    "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
    "kubelet", "kubectl", "etcd", "coredns", "pause",
}  # fmt: skip
FAKE_GO = """#!/bin/sh
echo "$*" >>"{log}"
case $1 in
version) echo "go version go99.0.1 linux/amd64" ;;
env) echo "{cache}" ;;
list) printf '%s\\n' runtime k8s.io/one k8s.io/two ;;
build)
  echo k8s.io/one >&2
  {fault}
  while [ "$1" != -o ]; do shift; done
  output=$2
  shift 4
  case $output in
  */) for package; do echo "built $package" >"$output${{package##*/}}"; done ;;
  *) echo "built $1" >"$output" ;;
  esac ;;
esac
"""


class Machine:
    """A PATH with a Go that only pretends, and nothing else that could be found."""

    def __init__(self, root: Path) -> None:
        self.home = Home(state=root / "state", cache=root / "cache")
        self.programs = root / "programs"
        self.log = root / "go.log"
        self.said = io.StringIO()
        self.progress = Progress(Console(file=self.said, width=400))
        self.programs.mkdir()
        for name in ("env", "setpriv"):
            (self.programs / name).symlink_to(shutil.which(name) or name)
        self.install_go()

    def install_go(self, fault: str = ":") -> None:
        text = FAKE_GO.format(log=self.log, cache=self.home.cache, fault=fault)
        write_program(self.programs / "go", text)

    def ensure(self) -> Path:
        return binaries.ensure(self.home, self.progress)

    @property
    def builds(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith("build ")]


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.programs))
    for variable in ("LOCALKUBE_ASSETS", "KUBEBUILDER_ASSETS", "LOCALKUBE_GO"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(preflight, "free_space", lambda _: 100 * preflight.GIB)
    return made


def test_everything_missing_is_built_into_one_directory(machine: Machine) -> None:
    directory = machine.ensure()
    assert directory == machine.home.cache / "bin" / catalog.key()
    assert {path.name for path in directory.iterdir()} == NAMES
    assert all(os.access(path, os.X_OK) for path in directory.iterdir())
    assert (directory / "etcd").read_text() == "built go.etcd.io/etcd/server/v3\n"
    assert (directory / "coredns").read_text() == "built ./coredns\n"


def test_kubectl_is_built_first_and_the_rest_of_kubernetes_at_once(machine: Machine) -> None:
    machine.ensure()
    kubectl, together, etcd = machine.builds
    assert kubectl.endswith("gitTreeState=clean k8s.io/kubernetes/cmd/kubectl")
    assert together.endswith(
        "k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager "
        "k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kube-proxy k8s.io/kubernetes/cmd/kubelet "
        "./coredns ./pause"
    )
    assert etcd.endswith(" go.etcd.io/etcd/server/v3")


def test_what_was_built_is_there_for_others_even_if_the_next_lot_cannot_be(machine: Machine) -> None:
    machine.install_go(fault='case "$*" in *kubelet*) exit 1 ;; esac')
    with pytest.raises(errors.LocalkubeError):
        machine.ensure()
    assert [path.name for path in binaries.place(machine.home).iterdir()] == ["kubectl"]
    assert not binaries.are_awaited(machine.home)


def test_a_second_call_runs_no_program(machine: Machine) -> None:
    directory = machine.ensure()
    shutil.rmtree(machine.programs)
    assert machine.ensure() == directory


def test_only_the_binary_that_is_missing_is_made_again(machine: Machine) -> None:
    directory = machine.ensure()
    (directory / "pause").unlink()
    kept = (directory / "kubelet").stat().st_ino
    machine.log.unlink()
    machine.ensure()
    (build,) = machine.builds
    assert build.endswith("gitTreeState=clean ./pause")
    assert (directory / "kubelet").stat().st_ino == kept


def test_a_cache_named_relative_to_here_works_too(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.programs.parent)
    machine.home = Home(state=Path("state"), cache=Path("cache"))
    directory = machine.ensure()
    assert directory.is_absolute()
    assert not catalog.missing(directory)


KUBELET = "#!/bin/sh\necho Kubernetes v{}.{}.77\n".format(*catalog.kubernetes_version())


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """A directory that somebody filled with a kubelet."""
    place = tmp_path / "assets"
    place.mkdir()
    write_program(place / "real", KUBELET)
    (place / "kubelet").symlink_to("real")
    return place


def test_a_found_binary_is_copied_and_not_built(
    machine: Machine, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALKUBE_ASSETS", str(assets))
    copied = machine.ensure() / "kubelet"
    assert copied.read_text() == KUBELET
    assert not copied.is_symlink()
    assert os.access(copied, os.X_OK)
    assert "kubelet" not in machine.builds[0]
    assert f"from {assets}/kubelet" in machine.said.getvalue()


def test_what_one_found_is_used_whatever_was_built_before_and_by_nobody_else(
    machine: Machine, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = machine.ensure()
    machine.log.unlink()
    with monkeypatch.context() as person:
        person.setenv("LOCALKUBE_ASSETS", str(assets))
        used = machine.ensure()
        assert used == machine.ensure() == binaries.place(machine.home)
    assert (used / "kubelet").read_text() == KUBELET
    assert {path.name for path in used.iterdir()} == NAMES
    assert (used / "etcd").samefile(built / "etcd")
    assert machine.builds == []
    assert machine.ensure() == built == binaries.place(machine.home)
    assert (built / "kubelet").read_text() == "built k8s.io/kubernetes/cmd/kubelet\n"


def test_who_finds_another_file_tomorrow_uses_that(
    machine: Machine, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALKUBE_ASSETS", str(assets))
    before = machine.ensure()
    write_program(assets / "real", f"{KUBELET}# another\n")
    after = machine.ensure()
    assert ((before / "kubelet").read_text(), (after / "kubelet").read_text()) == (KUBELET, f"{KUBELET}# another\n")


def test_what_nobody_finds_any_more_is_built(machine: Machine, assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as person:
        person.setenv("LOCALKUBE_ASSETS", str(assets))
        machine.ensure()
    machine.log.unlink()
    assert not catalog.missing(machine.ensure())
    (build,) = machine.builds
    assert build.endswith("gitTreeState=clean k8s.io/kubernetes/cmd/kubelet")


def test_what_a_killed_predecessor_left_is_cleared_away(machine: Machine) -> None:
    left = machine.home.cache / "bin" / ".draft-killed"
    left.mkdir(parents=True)
    (left / "kubelet").write_text("half")
    directory = machine.ensure()
    assert (directory / "kubelet").read_text() != "half"
    assert sorted(path.name for path in directory.parent.iterdir()) == [".lock", directory.name]


def test_a_failed_build_tells_what_go_said_last_and_can_be_tried_again(machine: Machine) -> None:
    machine.install_go(fault="echo '# k8s.io/one' >&2; echo 'one.go:7: undefined: x' >&2; exit 3")
    with pytest.raises(errors.LocalkubeError) as caught:
        machine.ensure()
    assert str(caught.value) == "`go build` ended with 3:\n# k8s.io/one\none.go:7: undefined: x"
    machine.install_go()
    assert not catalog.missing(machine.ensure())


def test_the_person_is_told_what_is_built_and_how_long_it_takes(machine: Machine) -> None:
    machine.ensure()
    said = machine.said.getvalue()
    assert "etcd, coredns and pause from source: about 5 minutes on 2 cores, once per machine." in said
    assert "✓ downloading Go modules" in said


def test_a_full_disk_is_told_before_anything_is_built(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "free_space", lambda _: 5 * preflight.GIB)
    with pytest.raises(errors.LocalkubeError, match="needs 6 GiB of free disk"):
        machine.ensure()
    assert machine.builds == []


def test_a_second_process_waits_says_so_and_builds_nothing_twice(machine: Machine) -> None:
    directory = machine.ensure()
    stash = directory.rename(directory.with_name("stash"))
    machine.log.unlink()
    waits = threading.Event()

    class Listening(Progress):
        def say(self, message: str) -> None:
            assert message == "Another localkube is getting the binaries; waiting for it to finish."
            waits.set()

    second = threading.Thread(target=binaries.ensure, args=(machine.home, Listening(machine.progress.console)))
    with (directory.parent / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second.start()
        assert waits.wait(30)
        second.join(0.3)
        assert second.is_alive(), "it went on without the lock"
        for path in stash.iterdir():
            path.rename(directory / path.name)
    second.join(30)
    assert not second.is_alive()
    assert machine.builds == []
