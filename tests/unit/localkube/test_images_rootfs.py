"""Debian root file systems: of this machine's suite, through this machine's apt, made once."""

import os
import tarfile
from pathlib import Path

import pytest

from localkube import errors, packages
from localkube.images import archive, rootfs
from localkube.paths import Home
from localkube.progress import Progress

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_CODENAME=trixie\nID=debian\n'
UBUNTU = "ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n"
DEB822 = "Types: deb\nURIs: http://mirror.example.org/debian\nSuites: trixie trixie-updates\nComponents: main\n"
# Writes the tar file it is asked for, and notes with what words it was called.
FAKE_MMDEBSTRAP = """#!/bin/sh
printf '%s\\n' "$@" >>"{log}"
for word; do case $word in
*broken*) echo "I: downloading"; echo "E: Unable to locate package broken"; exit 25 ;;
--aptopt=*) cat "${{word#--aptopt=}}" >>"{log}" ;;
*.tar) tar --create --file "$word" --directory "{content}" . ;;
esac; done
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of its own need root")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-ins for mmdebstrap and apt-config were asked."""
    programs, content, log = tmp_path / "bin", tmp_path / "content", tmp_path / "log"
    programs.mkdir()
    content.mkdir()
    (content / "hello").write_text("world")
    fakes = {
        "mmdebstrap": FAKE_MMDEBSTRAP.format(log=log, content=content),
        "apt-config": "#!/bin/sh\necho 'Acquire::http::Proxy \"http://proxy.example.org\";'\n",
    }
    for name, text in fakes.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return log


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What this machine says that it is: nothing, until it is written."""
    file = tmp_path / "os-release"
    monkeypatch.setattr(packages, "OS_RELEASE", file)
    return file


@pytest.mark.parametrize(("text", "suite"), [(DEBIAN, "trixie"), (UBUNTU, "bookworm"), (None, "bookworm")])
def test_the_suite_is_the_machines_own_where_it_is_debian(release: Path, text: str | None, suite: str) -> None:
    if text is not None:
        release.write_text(text)
    assert rootfs.suite_of_host() == suite


def test_debians_keys_are_named_where_the_machines_apt_does_not_have_them(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "KEYRING", tmp_path / "keyring.gpg")
    release.write_text(UBUNTU)
    assert rootfs.trust() == []
    (tmp_path / "keyring.gpg").touch()
    assert rootfs.trust() == [f"--keyring={tmp_path}/keyring.gpg"]
    release.write_text(DEBIAN)
    assert rootfs.trust() == []


def test_the_sources_that_serve_the_suite_are_passed_on_in_both_formats(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text("deb http://mirror.example.org/debian trixie main\n")
    (parts / "debian.sources").write_text(DEB822)
    (parts / "vendor.list").write_text("deb http://vendor.example.org stable main\n")
    (parts / "old.sources.save").write_text(DEB822)
    assert rootfs.sources("trixie", tmp_path) == [tmp_path / "sources.list", parts / "debian.sources"]
    assert rootfs.sources("bookworm", tmp_path) == []


def test_how_to_reach_servers_is_passed_on_and_what_else_to_download_is_not() -> None:
    dump = """\
APT::Architecture "amd64";
Acquire::http::Proxy "http://proxy.example.org:3128";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::DEP-11::MetaKey "x";
DPkg::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";
"""
    lines = rootfs.apt_settings(dump).splitlines()
    assert 'Acquire::http::Proxy "http://proxy.example.org:3128";' in lines
    assert 'Acquire::Check-Valid-Until "false";' in lines
    assert 'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";' in lines
    assert not any(word in line for line in lines for word in ("DEP-11", "Post-Invoke", "Architecture"))


@pytest.mark.parametrize("package", ["", "a b", "Upper", "--simulate", "?essential", "/tmp/x.deb", "a,b"])
def test_what_is_no_packages_name_never_reaches_apt(home: Home, progress: Progress, package: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="cannot be the name of a Debian package"):
        rootfs.ensure(home, (package,), progress)


@needs_root
def test_a_root_file_system_is_made_once_for_a_set_of_packages(home: Home, progress: Progress, log: Path) -> None:
    first = rootfs.ensure(home, ("python3", "bindfs"), progress)
    called = log.read_text()
    assert "--include=bindfs,python3\n" in called
    assert 'Acquire::http::Proxy "http://proxy.example.org";\n' in called
    assert rootfs.ensure(home, ("bindfs", "python3", "bindfs"), progress) == first
    assert log.read_text() == called
    assert rootfs.ensure(home, ("bindfs",), progress).reference != first.reference


@needs_root
@pytest.mark.usefixtures("release")
def test_a_machine_that_is_not_debian_makes_one_by_debians_keys(
    home: Home, progress: Progress, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "KEYRING", tmp_path / "keyring.gpg")
    (tmp_path / "keyring.gpg").touch()
    rootfs.ensure(home, ("bindfs",), progress)
    assert f"--keyring={tmp_path}/keyring.gpg\n" in log.read_text()


@needs_root
def test_a_root_file_system_is_an_image_under_its_reference(home: Home, progress: Progress, log: Path) -> None:
    made = rootfs.ensure(home, ("bindfs",), progress)
    assert log.exists()
    assert archive.references(made.archive) == [made.reference]
    with tarfile.open(made.archive) as image:
        layer = image.extractfile("layer.tar")
        assert layer is not None
        with tarfile.open(fileobj=layer) as files:
            assert "./hello" in files.getnames()


@needs_root
def test_a_failure_gives_apts_own_reason_and_leaves_nothing(home: Home, progress: Progress, log: Path) -> None:
    with pytest.raises(errors.LocalkubeError, match="Unable to locate package broken") as caught:
        rootfs.ensure(home, ("broken",), progress)
    assert "downloading" not in str(caught.value)
    assert log.exists()
    assert not [file for file in (home.cache / "images").iterdir() if not file.name.endswith(".lock")]
