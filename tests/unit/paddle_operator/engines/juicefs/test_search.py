"""Which blocks count as cached: those that are there, whole, and with the bytes that were first read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import cachefiles, expectation, ledger, search, study
from paddle_operator.engines.juicefs.blocks import Block, Slice
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.identity import Identity
from paddle_operator.engines.juicefs.ledger import Ledger
from paddle_operator.engines.juicefs.search import Findings, Search

VOLUME = "00000000-0000-4000-8000-000000000000"
DATA = b"12345"
MEBIBYTE = 1 << 20


def records(*names: str) -> list[Expected]:
    return [Expected(name.encode(), [Slice(number, 5, 0, 5)]) for number, name in enumerate(names, start=1)]


def made(place: Path, *directories: str) -> Search:
    """Have a cache in directories, the first of which holds the blocks of three files."""
    trees = tuple(place / name / VOLUME / "raw" for name in directories or ("cache",))
    for tree in trees:
        (tree / "chunks/0/0").mkdir(parents=True)
    for number in (1, 2, 3):
        file(trees[0], number).write_bytes(DATA)
    return Search(trees, None, Ledger(place / "ledger", VOLUME))


def file(tree: Path, number: int) -> Path:
    return tree / f"chunks/0/0/{number}_0_5"


def looked(of: Search, asked: list[Expected] | None = None) -> Findings:
    return of.look(asked or records("a", "b", "c"), of.ledger.directory.with_name("missing"))


def studied(of: Search, asked: list[Expected] | None = None) -> Findings:
    """Look, and read what was new."""
    findings = looked(of, asked)
    study.learn(of.ledger.directory, tuple(tree.parents[1] for tree in of.trees), lambda: False)
    return findings


def test_what_is_not_cached_is_counted_named_and_written_down(tmp_path: Path) -> None:
    of = made(tmp_path)
    file(of.trees[0], 2).unlink()
    asked = [*records("here", "missing"), Expected(b"gone", None), Expected(b"empty", [])]
    findings = looked(of, asked)
    assert (findings.files, findings.expected, findings.present, findings.missing_files) == (4, 2, 1, 2)
    assert (findings.missing, findings.damaged) == (["missing", "gone"], [])
    assert list(expectation.read(tmp_path / "missing")) == asked[1:3]


def test_the_block_size_is_learned_from_the_cache(tmp_path: Path) -> None:
    of = made(tmp_path)
    for name, size in {"7_0_1048576": MEBIBYTE, "7_1_1048576": MEBIBYTE, "7_2_100": 100}.items():
        (of.trees[0] / "chunks/0/0" / name).touch()
        os.truncate(of.trees[0] / "chunks/0/0" / name, size)
    record = Expected(b"large", [Slice(7, 2 * MEBIBYTE + 100, 0, 2 * MEBIBYTE + 100)])
    assert looked(of, [record]).present == 3
    assert of.block_size == MEBIBYTE


def test_a_block_that_has_other_bytes_than_at_first_is_damaged_and_stays_so(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert studied(of).present == 3
    file(of.trees[0], 2).write_bytes(b"12354")
    for _ in range(2):
        findings = looked(of)
        assert (findings.present, findings.missing, findings.damaged) == (2, ["b"], ["b"])
    of.discard(expectation.read(tmp_path / "missing"))
    assert [path.name for path in sorted((of.trees[0] / "chunks/0/0").iterdir())] == ["1_0_5", "3_0_5"]
    assert (looked(of).missing, looked(of).damaged) == (["b"], [])
    file(of.trees[0], 2).write_bytes(DATA)
    assert looked(of).present == 3


def test_what_changed_before_it_was_read_is_removed_to_be_fetched_anew(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert looked(of).present == 3
    file(of.trees[0], 2).write_bytes(b"other")
    for _ in range(2):
        findings = looked(of)
        assert (findings.present, findings.missing, findings.damaged) == (2, ["b"], [])
    assert not file(of.trees[0], 2).exists()
    file(of.trees[0], 2).write_bytes(DATA)
    assert looked(of).present == 3


def test_what_changed_before_it_was_read_is_never_taken_for_what_was_first_read(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert looked(of).present == 3
    file(of.trees[0], 1).unlink()
    file(of.trees[0], 2).write_bytes(b"other")
    study.learn(of.ledger.directory, (tmp_path / "cache",), lambda: False)
    assert sorted(path.name for path in (of.trees[0] / "chunks/0/0").iterdir()) == ["3_0_5"]
    with of.ledger.opened() as book:
        assert list(book.known([Block(number, 0, 5) for number in (1, 2, 3)])) == [Block(3, 0, 5)]


# After how many looks whether it is over it is, and how many blocks are entered and not read by then.
@pytest.mark.parametrize(("looks", "unread"), [(0, 0), (1, 3), (3, 3), (4, 2), (6, 0)])
def test_what_is_interrupted_is_gone_on_with(tmp_path: Path, looks: int, unread: int) -> None:
    of = made(tmp_path)
    assert looked(of).present == 3
    answers = iter([False] * looks)
    study.learn(of.ledger.directory, (tmp_path / "cache",), lambda: next(answers, True))
    with of.ledger.opened() as book:
        assert len(book.unread(-1, 9)) == unread
    study.learn(of.ledger.directory, (tmp_path / "cache",), lambda: False)
    for number in (1, 2, 3):
        file(of.trees[0], number).write_bytes(b"other")
    assert looked(of).damaged == ["a", "b", "c"]


def test_a_file_that_is_asked_for_several_times_counts_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BATCH", 1)
    of = made(tmp_path)
    asked = records("a") * 3
    for findings in (looked(of, asked), studied(of, asked), looked(of, asked)):
        assert (findings.expected, findings.present) == (3, 3)
    file(of.trees[0], 1).write_bytes(b"other")
    assert looked(of, asked).damaged == ["a", "a", "a"]


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, read = made(tmp_path), list[str]()
    checksum = cachefiles.checksum

    def noted(path: str, size: int, buffer: memoryview) -> int | None:
        read.append(Path(path).name)
        return checksum(path, size, buffer)

    monkeypatch.setattr(cachefiles, "checksum", noted)
    for _ in range(3):
        assert studied(of).present == 3
    file(of.trees[0], 3).touch()
    assert looked(of).present == 3
    assert sorted(read) == ["1_0_5", "2_0_5", "3_0_5", "3_0_5"]


def test_what_changes_right_after_it_was_read_is_noticed(tmp_path: Path) -> None:
    """Changes within a tick of the kernel's clock bear the same time."""
    of = made(tmp_path)
    for number in range(20):
        path = of.trees[0] / f"chunks/0/0/{number + 10}_0_5"
        path.write_bytes(DATA)
        asked = [Expected(b"x", [Slice(number + 10, 5, 0, 5)])]
        assert studied(of, asked).present == 1
        path.write_bytes(b"other")
        assert looked(of, asked).damaged == ["x"]


def test_every_copy_of_a_block_must_be_as_it_was(tmp_path: Path) -> None:
    """Which one is read depends on how many directories there are."""
    of = made(tmp_path, "one", "two")
    assert studied(of).present == 3
    file(of.trees[1], 1).write_bytes(DATA)
    file(of.trees[1], 2).write_bytes(b"other")
    assert looked(of).damaged == ["b"]
    of.discard(expectation.read(tmp_path / "missing"))
    assert [tree.exists() for tree in (file(of.trees[0], 2), file(of.trees[1], 2))] == [True, False]
    assert looked(of).present == 3


def test_the_checksums_that_a_later_juicefs_adds_are_no_part_of_a_block(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert studied(of).present == 3
    for number in (1, 2):
        file(of.trees[0], number).write_bytes((DATA if number == 1 else b"other") + b"sum" + bytes([number]))
    assert looked(of).damaged == ["b"]


def test_a_block_that_cannot_be_read_is_missing(tmp_path: Path) -> None:
    of = made(tmp_path)
    file(of.trees[0], 2).unlink()
    file(of.trees[0], 2).symlink_to("/5/67")
    os.truncate(file(of.trees[0], 1), 5)
    findings = looked(of)
    assert (findings.missing, findings.damaged) == (["b"], [])


def test_files_with_many_blocks_are_looked_at_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BATCH", 2)
    of = made(tmp_path)
    of.block_size = 5
    asked = [Expected(b"long", [Slice(8, 20, 0, 20)]), *records("a", "b", "c")]
    for number in range(4):
        (of.trees[0] / f"chunks/0/0/8_{number}_5").write_bytes(DATA)
    assert studied(of, asked).present == 7
    (of.trees[0] / "chunks/0/0/8_3_5").write_bytes(b"other")
    assert looked(of, asked).damaged == ["long"]


HARMS: dict[str, Callable[[Path], object]] = {
    "not there": ledger.forget,
    "another thing": lambda directory: next(directory.glob("*.ledger")).write_bytes(os.urandom(9000)),
    "cut": lambda directory: os.truncate(next(directory.glob("*.ledger")), 5000),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
def test_a_ledger_that_is_lost_or_harmed_is_begun_anew(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    of = made(tmp_path)
    assert looked(of).present == 3
    harm(of.ledger.directory)
    studied(of)
    findings = studied(of)
    assert (findings.present, findings.trouble) == (3, "")
    file(of.trees[0], 2).write_bytes(b"other")
    assert looked(of).damaged == ["b"]


def test_a_volume_that_was_formatted_anew_is_another_one_and_the_old_one_is_forgotten(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert studied(of).present == 3
    anew = search.search_of((tmp_path / "cache",), of.ledger.directory, Identity(VOLUME.replace("4", "5")))
    assert (anew.trees, ledger.volumes(of.ledger.directory)) == ((), [])


def test_without_a_ledger_blocks_count_by_their_size_and_it_is_said(tmp_path: Path) -> None:
    of = made(tmp_path)
    of.ledger.directory.write_bytes(b"no directory")
    findings = looked(of)
    assert findings.present == 3
    assert findings.trouble


def test_a_block_of_another_size_is_another_block(tmp_path: Path) -> None:
    of = made(tmp_path)
    with of.ledger.opened() as book:
        book.remember({Block(1, 0, 6): ledger.Seen(1, 2)})
        assert list(book.known([Block(1, 0, 5), Block(1, 1, 6)])) == []
    assert looked(of).present == 3
