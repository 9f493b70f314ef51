"""What must be in the cache: never less than the file has."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import expectation
from paddle_operator.engines.juicefs.blocks import Slice
from paddle_operator.engines.juicefs.control import Control
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.places import Found
from paddle_operator.engines.operations import LONGEST_NAME

WHOLE = " length:\t5\n chunks:\n\t0:\t1\t5\t0\t5\n"
NOTHING = " length:\t5\n chunks:\n"
ERROR = "input/output error"


class Client(Control):
    """Answers one thing after the other."""

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = iter(answers)

    def info(self, inode: int, *, is_deep: bool = False) -> str:
        del inode, is_deep
        return next(self._answers)


ANSWERS = {
    "at once": ([WHOLE], [Slice(1, 5, 0, 5)]),
    "after an error": ([ERROR, NOTHING, WHOLE], [Slice(1, 5, 0, 5)]),
    "a hole that stays one": ([NOTHING, NOTHING, NOTHING], []),
    "errors only": ([ERROR, ERROR, ERROR], None),
}


@pytest.mark.parametrize(("answers", "pieces"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_error_is_never_taken_for_a_file_without_data(answers: list[str], pieces: list[Slice] | None) -> None:
    assert expectation.pieces_of(1, Client(answers)) == pieces


def test_a_file_that_is_gone_or_beyond_a_link_has_no_inode(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    (tmp_path / "out").symlink_to("/")
    files = [Found("gone"), Found("out/etc/passwd"), Found("here"), Found("known", 7)]
    inodes = [None, None, (tmp_path / "here").stat().st_ino, 7]
    assert [inode for _, inode in expectation.located(tmp_path, files)] == inodes


def records(*names: str) -> list[Expected]:
    return [Expected(name.encode(), [Slice(number, 5, 0, 5)]) for number, name in enumerate(names, start=1)]


def test_records_are_kept_in_order_whatever_their_names(tmp_path: Path) -> None:
    kept = [*records("a", "b\nc"), Expected(b"\xff", None)]
    for record in kept:
        expectation.append(tmp_path / "file", [record])
    assert list(expectation.read(tmp_path / "file")) == kept


def test_fresh_records_take_the_place_of_theirs() -> None:
    old, fresh = records("a", "b", "c", "d"), [Expected(b"b", None), Expected(b"d", [])]
    assert list(expectation.merged(iter(old), iter(fresh))) == [old[0], fresh[0], old[2], fresh[1]]


NAMES = {
    "as it is": ("数据/ü.jpg".encode(), "数据/ü.jpg"),
    "no text at all": (b"\xff\n", r"\udcff\x0a"),
    "as long as it may be": (b"a" * 256, "a" * 256),
    "too long": (b"a" * 257, "a" * 253 + "…"),
    "too long, and not to be cut anywhere": (b"a" + "数".encode() * 90, "a" + "数" * 84 + "…"),
}


@pytest.mark.parametrize(("path", "name"), NAMES.values(), ids=NAMES.keys())
def test_a_name_is_told_in_so_many_bytes_and_marked_where_it_is_cut(path: bytes, name: str) -> None:
    assert expectation.shown(path) == name
    assert len(name.encode()) <= LONGEST_NAME
