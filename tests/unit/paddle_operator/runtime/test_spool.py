"""The spool: what was written is read again, whole or not at all."""

from pathlib import Path

import pytest

from paddle_operator.engines.operations import Operation, RmrOrder, SyncOrder
from paddle_operator.runtime.spool import Entry, Spool, SpoolError


def entry(name: str, number: int = 1) -> Entry:
    return Entry(number, RmrOrder(("a",)), Operation(name, "rmr"))


def test_what_was_written_is_read_again_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "deep/spool")
    with spool.held():
        written = [entry("b", 1), entry("c", 2), entry("a", 10)]
        for one in reversed(written):
            spool.save(one)
    assert Spool(tmp_path / "deep/spool").load() == written


def test_what_was_half_written_when_we_were_killed_does_not_count(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.save(entry("a"))
    (tmp_path / "b.draft").write_bytes(b'{"number":')
    (tmp_path / "a.draft").write_bytes(b"")
    (tmp_path / "c.json").write_bytes(b'{"number":')
    assert spool.load() == [entry("a")]


def test_a_spool_of_a_newer_server_can_be_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.save(entry("a"))
    file = tmp_path / "a.json"
    file.write_bytes(file.read_bytes().replace(b'"number"', b'"invented":1,"number"'))
    assert spool.load() == [entry("a")]


def test_an_id_is_never_a_way_to_another_file(tmp_path: Path) -> None:
    with pytest.raises(SpoolError):
        Spool(tmp_path / "spool").save(entry("../escaped"))


def test_a_sync_is_kept_with_every_option(tmp_path: Path) -> None:
    order = SyncOrder(source="s3://b.host/x", delete_dst=True, bwlimit=3, exclude="ä.*")
    spool = Spool(tmp_path)
    spool.save(Entry(1, order, Operation("a", "sync"), has_keys=True))
    assert spool.load()[0].order == order


def test_one_server_at_a_time_has_it(tmp_path: Path) -> None:
    with Spool(tmp_path).held(), pytest.raises(SpoolError, match="another runtime server"), Spool(tmp_path).held():
        pass
    with Spool(tmp_path).held():
        pass


def test_a_place_that_cannot_be_a_spool_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match="cannot be used"), Spool(tmp_path / "file").held():
        pass
