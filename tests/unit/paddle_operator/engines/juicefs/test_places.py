"""Paths of the data set: nothing leads out of it."""

import functools
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from paddle_operator.engines.juicefs import places
from paddle_operator.engines.juicefs.places import Found, PlaceError

REFUSED = {
    "the root": "/",
    "nothing": "",
    "a dot": ".",
    "dots and slashes": ".//./",
    "the parent": "..",
    "the parent, later": "a/../b",
    "an absolute path": "/a",
    "a line end": "a\nb",
    "an end of text": "a\0b",
    "a long name": "x" * 256,
    "a long path": "x/" * 513,
    "what is JuiceFS' own": ".control",
    "its trash": ".trash/a",
}


def files(root: Path, place: PurePosixPath) -> Iterator[Found]:
    return places.files(root, place, functools.partial(places.entries, root))


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_below_the_root_is_refused(text: str) -> None:
    with pytest.raises(PlaceError):
        places.parse(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [("a", "a"), ("a/b/", "a/b"), ("./a//b", "a/b"), ("...", "..."), ("a/.control", "a/.control"), ("-rf", "-rf")],
)
def test_what_is_below_the_root_is_taken(text: str, path: str) -> None:
    assert places.parse(text) == PurePosixPath(path)


def test_a_refusal_shows_a_hostile_path_harmlessly() -> None:
    with pytest.raises(PlaceError) as refused:
        places.parse("/\x1b[2J\n" + "x" * 5000)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


def tree(root: Path) -> None:
    for name in ("b/2", "b/1", "a/x/deep", "top", ".stats"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "link").symlink_to("/etc")
    (root / "a/loop").symlink_to("..")
    (root / "b/file-link").symlink_to("1")


def test_files_come_in_one_order_and_links_are_not_followed(tmp_path: Path) -> None:
    tree(tmp_path)
    found = list(files(tmp_path, PurePosixPath()))
    assert [file.path for file in found] == ["top", "a/x/deep", "b/1", "b/2"]
    assert [file.inode for file in found] == [(tmp_path / file.path).stat().st_ino for file in found]
    assert [file.path for file in files(tmp_path, PurePosixPath("b"))] == ["b/1", "b/2"]
    assert [file.path for file in files(tmp_path, PurePosixPath("b/2"))] == ["b/2"]
    with pytest.raises(PlaceError, match="there is no 'nothing' in the data set"):
        list(files(tmp_path, PurePosixPath("nothing")))


@pytest.mark.parametrize("place", ["link", "link/hosts", "link/ssl", "a/loop/b", "a/loop/b/1", "b/file-link", "pipe"])
def test_nothing_beyond_a_link_is_of_the_data_set(tmp_path: Path, place: str) -> None:
    tree(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlaceError, match=r"there is no|neither a file nor a directory"):
        list(files(tmp_path, PurePosixPath(place)))
    with pytest.raises(PlaceError, match="there is no file"):
        places.file(tmp_path, PurePosixPath(place))


def test_a_directory_that_became_a_link_meanwhile_is_left_out(tmp_path: Path) -> None:
    tree(tmp_path)
    walk = files(tmp_path, PurePosixPath())
    assert next(walk).path == "top"
    (tmp_path / "a").rename(tmp_path / "gone")
    (tmp_path / "a").symlink_to("/etc")
    assert [file.path for file in walk] == ["b/1", "b/2"]


def test_another_file_system_is_not_of_the_data_set() -> None:
    with pytest.raises(PlaceError, match="'proc' is another file system"):
        places.passed(Path("/"), ("proc",))
    assert places.Directories(Path("/")).inode("proc/version") is None


def test_inodes_are_found_through_no_link_and_few_directories_stay_open(tmp_path: Path) -> None:
    tree(tmp_path)
    for number in range(places.MOST_KEPT + 5):
        (tmp_path / f"many{number}").mkdir()
        (tmp_path / f"many{number}/file").touch()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 counted, not read
    directories = places.Directories(tmp_path)
    for name in ("top", "b/1", "b/2", "a/x/deep", *(f"many{number}/file" for number in range(places.MOST_KEPT + 5))):
        assert directories.inode(name) == (tmp_path / name).stat().st_ino
    assert len(os.listdir("/proc/self/fd")) == before + places.MOST_KEPT  # noqa: PTH208 counted, not read
    for name in ("link", "a", "link/hostname", "a/loop/top", "nothing", "top/below", "n/" * 2000 + "n"):
        assert directories.inode(name) is None
    directories.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 counted, not read


def test_what_another_server_writes_for_a_moment_does_not_shift_the_order(tmp_path: Path) -> None:
    tree(tmp_path)
    before = list(files(tmp_path, PurePosixPath()))
    (tmp_path / f"{places.PROBE}imagenet-runtime-1").write_text("x")
    assert list(files(tmp_path, PurePosixPath())) == before


@pytest.mark.parametrize("parts", [("link",), ("a", "loop"), ("a", "loop", "b")])
def test_a_directory_is_opened_through_no_link(tmp_path: Path, parts: tuple[str, ...]) -> None:
    tree(tmp_path)
    with pytest.raises(OSError, match="Not a directory"), places.directory(tmp_path, parts):
        pass


def test_a_directory_is_made_below_the_root_and_through_no_link(tmp_path: Path) -> None:
    tree(tmp_path)
    assert places.made_directory(tmp_path, PurePosixPath("a/new/er")) == tmp_path / "a/new/er"
    assert places.made_directory(tmp_path, PurePosixPath("a/new/er")).is_dir()
    with pytest.raises(OSError, match="Not a directory"):
        places.made_directory(tmp_path, PurePosixPath("link/new"))


def test_opening_a_directory_leaves_nothing_open(tmp_path: Path) -> None:
    tree(tmp_path)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 counted, not read
    with places.directory(tmp_path, ("a", "x")):
        pass
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 counted, not read
