"""A program that can write below some directories only."""

import subprocess
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import confinement


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    if not confinement.version():
        pytest.skip("this kernel has no Landlock")
    for name in ("allowed", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    (tmp_path / "allowed/link").symlink_to(tmp_path / "other")
    return tmp_path / "allowed"


def run(allowed: Path, *argv: str) -> int:
    return subprocess.run(confinement.confined(argv, [str(allowed)]), stderr=subprocess.DEVNULL, check=False).returncode


@pytest.mark.parametrize(
    "words", [("touch", "new"), ("rm", "old"), ("mkdir", "new"), ("mv", "old", "new"), ("truncate", "-s0", "old")]
)
def test_below_its_directory_it_may_do_anything(allowed: Path, words: tuple[str, ...]) -> None:
    program, *options = words
    assert run(allowed, program, *(word if word[0] == "-" else str(allowed / word) for word in options)) == 0


@pytest.mark.parametrize("place", ["link", "../other"])
@pytest.mark.parametrize(
    "words", [("touch", "new"), ("rm", "old"), ("mkdir", "new"), ("mv", "old", "new"), ("truncate", "-s0", "old")]
)
def test_outside_it_may_change_nothing_also_by_a_link(allowed: Path, words: tuple[str, ...], place: str) -> None:
    program, *options = words
    path = allowed / place
    assert run(allowed, program, *(word if word[0] == "-" else str(path / word) for word in options)) != 0
    assert [(file.name, file.read_text()) for file in path.iterdir()] == [("old", "old")]


def test_it_may_read_and_throw_away(allowed: Path) -> None:
    assert run(allowed, "cp", str(allowed / "link/old"), "/dev/null") == 0


@pytest.mark.parametrize(
    ("path", "code"), [("mine/old", 0), ("allowed/old", 0), ("other/old", 1), ("mine/link/old", 1)]
)
def test_where_reading_is_confined_it_reads_what_it_may_and_nothing_else(allowed: Path, path: str, code: int) -> None:
    mine = allowed.parent / "mine"
    mine.mkdir()
    (mine / "old").write_text("old")
    (mine / "link").symlink_to(allowed.parent / "other")
    argv = confinement.confined(("cat", str(allowed.parent / path)), [str(allowed)], [str(mine)])
    assert subprocess.run(argv, capture_output=True, check=False).returncode == code


def test_where_reading_is_confined_users_still_have_their_names(allowed: Path) -> None:
    argv = confinement.confined(("stat", "--format=%U", "/usr"), [str(allowed)], [str(allowed)])
    assert subprocess.run(argv, capture_output=True, check=True, text=True).stdout == "root\n"


def test_a_kernel_without_landlock_confines_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(confinement, "system_call", unknown)
    assert confinement.version() == 0
    confinement.confine(["/nowhere"])
