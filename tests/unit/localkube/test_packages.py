"""System programs: what is missing, what is said about it, and how apt-get is asked."""

import io
import os
import shutil
import threading
from pathlib import Path

import pytest
from rich.console import Console

from localkube import errors, lock, packages
from localkube.progress import Progress


def plugins(directory: Path, *names: str) -> Path:
    directory.mkdir()
    for name in names:
        (directory / name).touch(mode=0o755)
    return directory


@pytest.fixture
def cni(tmp_path: Path) -> Path:
    return plugins(tmp_path / "cni", *packages.CNI_PLUGINS)


def test_a_machine_with_everything_lacks_nothing(cni: Path) -> None:
    assert packages.lacking(lambda _: True, [cni]) == []


def test_a_package_is_named_with_just_the_programs_that_are_missing(cni: Path) -> None:
    absent = packages.lacking(lambda program: program not in {"tc", "mkfs.ext4"}, [cni])
    assert absent == [packages.Package("iproute2", ("tc",)), packages.Package("e2fsprogs", ("mkfs.ext4",))]
    assert packages.lack(absent) == "this machine lacks tc, mkfs.ext4"


def test_plugins_spread_over_two_directories_are_missing(tmp_path: Path) -> None:
    first = plugins(tmp_path / "first", "ptp", "host-local")
    second = plugins(tmp_path / "second", "portmap", "loopback")
    (absent,) = packages.lacking(lambda _: True, [first, second])
    assert absent.name == "containernetworking-plugins"


def test_the_first_complete_directory_of_plugins_is_given(
    tmp_path: Path, cni: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = plugins(tmp_path / "partial", "ptp")
    monkeypatch.setattr(packages, "CNI_DIRECTORIES", (tmp_path / "none", partial, cni))
    assert packages.cni_directory() == cni


def test_a_machine_without_plugins_is_told_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "CNI_DIRECTORIES", (tmp_path,))
    with pytest.raises(errors.LocalkubeError, match="install containernetworking-plugins"):
        packages.cni_directory()


def test_administrators_directories_are_searched_after_the_persons_own() -> None:
    searched = packages.search_path("/home/me/bin::/usr/bin").split(":")
    assert searched[:2] == ["/home/me/bin", "/usr/bin"]
    assert searched.count("/usr/bin") == 1
    assert {"/usr/sbin", "/sbin", "/bin"} <= set(searched)


class Machine:
    """Has an apt-get that writes down how it was asked, and installs by making the file."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs = root / "programs"
        self.log = root / "apt.log"
        self.programs.mkdir()
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setattr(packages, "SYSTEM_PATH", ())
        monkeypatch.setattr(packages, "CNI_DIRECTORIES", (plugins(root / "cni", *packages.CNI_PLUGINS),))
        monkeypatch.setattr(packages, "LOCK", root / "lock")
        monkeypatch.setattr(packages, "OS_RELEASE", root / "os-release")
        (root / "os-release").write_text('ID="debian"\n')
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        for package in packages.PROGRAMS:
            for name in package.programs:
                (self.programs / name).touch(mode=0o755)
        self.apt_get(update=":", install=f'cd "{self.programs}"; for name; do : >$name; /bin/chmod 755 $name; done')

    def apt_get(self, *, update: str, install: str) -> None:
        path = self.programs / "apt-get"
        path.write_text(
            f'#!/bin/sh\necho "$DEBIAN_FRONTEND $SYSTEMD_OFFLINE $*" >>"{self.log}"\n'
            f'case "$*" in *update) {update}; exit ;; esac\n'
            f'while [ "$1" != --no-upgrade ]; do shift; done; shift\n{install}\n'
        )
        path.chmod(0o755)

    def ensure(self) -> None:
        packages.ensure(Progress(Console(file=io.StringIO())))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_with_everything_there_apt_get_is_not_run(machine: Machine) -> None:
    machine.ensure()
    assert not machine.log.exists()


def test_what_is_missing_is_installed_without_a_question_and_without_starting_services(machine: Machine) -> None:
    (machine.programs / "runc").unlink()
    (machine.programs / "conntrack").unlink()
    machine.ensure()
    assert shutil.which("runc") == str(machine.programs / "runc")
    update, install = machine.log.read_text().splitlines()
    assert update == "noninteractive 1 -q -y -o DPkg::Lock::Timeout=120 update"
    assert install.startswith("noninteractive 1 -q -y -o DPkg::Lock::Timeout=120 ")
    assert install.endswith(" install --no-install-recommends --no-remove --no-upgrade runc conntrack")


def test_a_system_that_is_not_debian_needs_debians_keys_too(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages.OS_RELEASE.write_text("NAME=Ubuntu\nID=ubuntu\n")
    keyring = packages.Package("debian-archive-keyring", (str(tmp_path / "keyring"),))
    monkeypatch.setattr(packages, "OF_DEBIAN", (keyring, packages.OF_DEBIAN[1]))
    assert [package.name for package in packages.missing()] == ["debian-archive-keyring", "gpg"]
    (tmp_path / "keyring").touch()
    machine.ensure()
    assert machine.log.read_text().splitlines()[1].endswith(" --no-upgrade gpg")


def test_who_waited_for_another_installs_nothing_twice(machine: Machine) -> None:
    (machine.programs / "runc").unlink()
    waits = threading.Event()

    class Listening(Progress):
        def say(self, message: str) -> None:
            assert message == "Another localkube is installing packages; waiting for it to finish."
            waits.set()

    second = threading.Thread(target=packages.ensure, args=(Listening(Console(file=io.StringIO())),))
    with lock.exclusive(packages.LOCK, "", pytest.fail):
        second.start()
        assert waits.wait(30)
        (machine.programs / "runc").touch(mode=0o755)
    second.join(30)
    assert not second.is_alive()
    assert not machine.log.exists()


def test_a_broken_source_does_not_keep_us_from_the_others(machine: Machine) -> None:
    (machine.programs / "runc").unlink()
    machine.apt_get(update="exit 100", install=f'cd "{machine.programs}"; : >runc; /bin/chmod 755 runc')
    machine.ensure()
    assert os.access(machine.programs / "runc", os.X_OK)


def test_a_failed_installation_tells_the_words_of_apt_get(machine: Machine) -> None:
    (machine.programs / "runc").unlink()
    machine.apt_get(update="exit 7", install="echo 'E: Unable to locate package runc' >&2; exit 100")
    with pytest.raises(errors.LocalkubeError, match=r"^runc could not be installed: .*Unable to locate.* ended with 7"):
        machine.ensure()


def test_an_installation_that_brought_nothing_is_an_error(machine: Machine) -> None:
    (machine.programs / "ctr").unlink()
    machine.apt_get(update=":", install=":")
    with pytest.raises(errors.LocalkubeError, match="lacks ctr, although containerd is installed"):
        machine.ensure()


@pytest.mark.parametrize("reason", ["user", "distribution"])
def test_where_we_cannot_install_one_sentence_lists_programs_and_packages(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    (machine.programs / "nft").unlink()
    (machine.programs / "losetup").unlink()
    if reason == "user":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    else:
        (machine.programs / "apt-get").unlink()
    with pytest.raises(errors.LocalkubeError) as caught:
        machine.ensure()
    assert str(caught.value) == (
        "this machine lacks nft, losetup: install nftables, mount (the names are Debian's) and try again"
    )
    assert not machine.log.exists()


def test_programs_outside_the_persons_path_are_found_and_can_be_run_afterwards(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(packages, "SYSTEM_PATH", (str(machine.programs),))
    machine.ensure()
    assert shutil.which("losetup") == str(machine.programs / "losetup")
