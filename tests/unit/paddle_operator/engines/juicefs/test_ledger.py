"""What is remembered of blocks: true, or not at all."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import ledger
from paddle_operator.engines.juicefs.blocks import Block
from paddle_operator.engines.juicefs.ledger import Ledger, Seen

ONE, OTHER = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"
SEEN = {Block(number, number % 3, 100): Seen(1_000_000_000 + number, number * 7) for number in range(500)}


# As they are when they are seen, and not read yet.
UNREAD = {block: Seen(seen.changed) for block, seen in SEEN.items()}


def kept(place: Path, volume: str = ONE, seen: dict[Block, Seen] = SEEN) -> Ledger:
    with (made := Ledger(place, volume)).opened() as book:
        book.remember(seen)
    return made


def known(of: Ledger) -> dict[Block, Seen]:
    with of.opened() as book:
        while book.enter():
            pass
        return book.known(SEEN)


def test_what_was_remembered_is_known_again(tmp_path: Path) -> None:
    assert known(kept(tmp_path / "ledger")) == SEEN


def test_each_volume_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    of = kept(tmp_path)
    assert known(Ledger(tmp_path, OTHER)) == {}
    assert (known(of), ledger.volumes(tmp_path)) == (SEEN, [ONE, OTHER])


def test_what_is_remembered_of_others_is_forgotten_when_that_is_wanted_or_all_of_it(tmp_path: Path) -> None:
    for volume in (ONE, OTHER):
        kept(tmp_path, volume)
    ledger.forget(tmp_path, but=OTHER)
    assert [path.name for path in tmp_path.iterdir()] == [f"{OTHER}.ledger"]
    ledger.forget(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_read_yet_is_known_once_it_is_entered(tmp_path: Path) -> None:
    of = kept(tmp_path, seen=UNREAD)
    with of.opened() as book:
        assert book.known(SEEN) == {}
    assert known(of) == UNREAD
    with of.opened() as book:
        assert not book.enter()
        assert dict(book.unread(-1, 1000).values()) == UNREAD
        book.remember(SEEN)
    assert known(of) == SEEN


def test_of_what_was_noted_twice_the_first_note_stays(tmp_path: Path) -> None:
    """It may have changed between the two: nothing is known then of what it was like at first."""
    of = Ledger(tmp_path, ONE)
    with of.opened() as book:
        for later in range(3):
            book.remember({block: Seen(seen.changed + later) for block, seen in SEEN.items()})
    assert known(of) == UNREAD


def test_a_note_that_was_damaged_itself_is_as_good_as_none(tmp_path: Path) -> None:
    of = kept(tmp_path, seen=UNREAD)
    with closing(sqlite3.connect(tmp_path / f"{ONE}.ledger", isolation_level=None)) as connection:
        connection.execute("UPDATE notes SET content = zeroblob(length(content))")
        connection.execute("INSERT INTO notes VALUES (NULL, 'text', 5)")
    assert known(of) == {}
    with of.opened() as book:
        book.remember(UNREAD)
    assert known(of) == UNREAD


@pytest.mark.parametrize("seen", [SEEN, UNREAD], ids=["read", "noted"])
@pytest.mark.parametrize("seed", range(20))
def test_a_ledger_that_was_damaged_never_says_what_is_not_so(
    tmp_path: Path, seed: int, seen: dict[Block, Seen]
) -> None:
    of, chance = kept(tmp_path, seen=seen), random.Random(seed)  # noqa: S311 a test's dice
    file = tmp_path / f"{ONE}.ledger"
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 30, 3000])):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    file.write_bytes(content)
    assert known(of).items() <= seen.items()


def test_a_ledger_of_another_version_is_thrown_away(tmp_path: Path) -> None:
    of = kept(tmp_path)
    with closing(sqlite3.connect(tmp_path / f"{ONE}.ledger")) as connection:
        connection.execute("PRAGMA user_version = 7")
    with of.opened() as book:
        assert (book.known(SEEN), book.trouble) == ({}, "")
        book.remember(SEEN)
    assert known(of) == SEEN


def test_a_batch_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    of = Ledger(tmp_path, ONE)
    with of.opened() as book:
        book.remember({**SEEN, Block(1, 0, 5): Seen(1, 1 << 80)})
        assert book.trouble
    with of.opened() as book:
        book.remember({**SEEN, **UNREAD, Block(1, 0, 5): Seen(1 << 80)})
        assert book.trouble
    assert known(of) == {}


def test_no_more_is_remembered_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST", 100)
    assert sorted(block.id for block in known(kept(tmp_path))) == list(range(400, 500))
