"""Operations: one at a time, in order, ended as they should, and taken up by the next server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from paddle_operator.engines.operations import (
    ClearOrder,
    Credentials,
    OperationState,
    Result,
    RmrOrder,
    SyncOrder,
    WarmupOrder,
)
from paddle_operator.engines.runtime import OperationError, OrderError
from paddle_operator.runtime import jobs as subject
from paddle_operator.runtime.jobs import Jobs, OtherOrderError
from paddle_operator.runtime.spool import Spool
from support.eventually import eventually
from support.pretender import Pretender

KEYS = Credentials("PLANTED", "PLANTED")
SYNC = SyncOrder(source="s3://b.host/x", credentials=KEYS)


class Server:
    """Jobs on a spool, with an engine that does what it is told."""

    def __init__(self, directory: Path, pod: str = "") -> None:
        self.engine = Pretender()
        self.changes = 0
        self.jobs = Jobs(self.engine, Spool(directory), self.count, pod)

    def count(self) -> None:
        self.changes += 1

    def state(self, name: str) -> OperationState:
        known = self.jobs.get(name)
        assert known
        return known.state


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@contextlib.asynccontextmanager
async def serving(directory: Path, pod: str = "") -> AsyncIterator[Server]:
    """Run a server until the end of the block, which for the spool is as if it had been killed."""
    server = Server(directory, pod)
    server.jobs.resume()
    working = asyncio.create_task(server.jobs.work())
    try:
        yield server
    finally:
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def test_operations_run_one_after_the_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("one", WarmupOrder())
        server.jobs.give("two", ClearOrder())
        await eventually(lambda: server.engine.begun == [WarmupOrder()])
        assert (server.state("one"), server.state("two")) == ("Running", "Queued")
        server.engine.succeed()
        await eventually(lambda: server.engine.begun == [WarmupOrder(), ClearOrder()])
        one = server.jobs.get("one")
        assert one
        assert (one.state, one.message, one.result, one.progress.files) == ("Succeeded", "as told", Result(files=1), 1)
        assert one.order_time
        assert one.start_time
        assert one.end_time


async def test_a_failure_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("one", WarmupOrder())
        server.jobs.give("two", ClearOrder())
        await eventually(lambda: len(server.engine.begun) == 1)
        server.engine.fail(OperationError("two blocks are missing", Result(missing_files=2)))
        await eventually(lambda: len(server.engine.begun) == 2)
        one = server.jobs.get("one")
        assert one
        assert (one.state, one.message, one.result) == ("Failed", "two blocks are missing", Result(missing_files=2))


async def test_a_defect_fails_one_operation_and_shows_no_value(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("one", WarmupOrder())
        await eventually(lambda: len(server.engine.begun) == 1)
        server.engine.fail(KeyError("PLANTED"))
        await eventually(lambda: server.state("one") == "Failed")
        server.jobs.give("two", ClearOrder())
        await eventually(lambda: len(server.engine.begun) == 2)
        one = server.jobs.get("one")
        assert one
        assert one.message == "a defect of the server, KeyError: see its log"


async def test_cancelling_ends_what_runs_and_what_waits(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        for name in ("one", "two", "three"):
            server.jobs.give(name, RmrOrder((name,)))
        await eventually(lambda: len(server.engine.begun) == 1)
        for name in ("two", "one"):
            assert server.jobs.cancel(name)
        await eventually(lambda: server.engine.begun == [RmrOrder(("one",)), RmrOrder(("three",))])
        assert (server.state("one"), server.state("two")) == ("Cancelled", "Cancelled")
        assert server.jobs.cancel("nobody") is None


async def test_an_id_has_one_order_for_good(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        first, is_new = server.jobs.give("one", RmrOrder(("a",)))
        assert is_new
        again, is_new = server.jobs.give("one", RmrOrder(("a",)))
        assert (again, is_new) == (first, False)
        with pytest.raises(OtherOrderError):
            server.jobs.give("one", RmrOrder(("b",)))


async def test_what_the_engine_refuses_is_not_kept(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.engine.refuses = "no such thing"
        with pytest.raises(OrderError, match="no such thing"):
            server.jobs.give("one", ClearOrder())
        assert server.jobs.all() == []
        assert Spool(tmp_path).load() == []


async def test_the_next_server_begins_again_what_was_not_done(tmp_path: Path) -> None:
    async with serving(tmp_path) as first:
        first.jobs.give("done", ClearOrder())
        await eventually(lambda: first.engine.begun)
        first.engine.succeed()
        first.jobs.give("half", WarmupOrder())
        first.jobs.give("waiting", RmrOrder(("a",)))
        await eventually(lambda: len(first.engine.begun) == 2)
    async with serving(tmp_path) as second:
        await eventually(lambda: second.engine.begun == [WarmupOrder()])
        half = second.jobs.get("half")
        assert half
        assert half.message == subject.RESUMED
        assert second.state("done") == "Succeeded"
        second.engine.succeed()
        await eventually(lambda: second.engine.begun == [WarmupOrder(), RmrOrder(("a",))])


async def test_what_was_cancelled_is_not_begun_by_the_next_server(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.jobs.give("one", ClearOrder())
    entry = server.jobs._entries["one"]
    Spool(tmp_path).save(replace(entry, is_cancelled=True))
    async with serving(tmp_path) as second:
        assert second.state("one") == "Cancelled"


async def test_what_ends_the_server_itself_is_given_up_after_a_while(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("deadly", WarmupOrder())
        await eventually(lambda: server.engine.begun)
        entry = replace(server.jobs._entries["deadly"], starts=subject.MOST_STARTS)
    Spool(tmp_path).save(entry)
    async with serving(tmp_path) as last:
        last.jobs.give("next", ClearOrder())
        await eventually(lambda: last.engine.begun == [ClearOrder()])
        assert last.state("deadly") == "Failed"


async def test_a_server_that_is_stopped_is_not_counted_as_a_failure(tmp_path: Path) -> None:
    for _ in range(3):
        async with serving(tmp_path) as server:
            server.jobs.give("long", WarmupOrder())
            await eventually(lambda: server.engine.begun)
    (entry,) = Spool(tmp_path).load()
    assert entry.starts == 0
    assert entry.operation.start_time


async def test_keys_are_kept_in_memory_only(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("one", SYNC)
        await eventually(lambda: server.engine.begun == [SYNC])
    assert files(tmp_path)
    assert [name for name, content in files(tmp_path).items() if b"PLANTED" in content] == []
    async with serving(tmp_path) as second:
        waiting = second.jobs.get("one")
        assert waiting
        assert (waiting.state, waiting.needs_credentials, waiting.message) == ("Queued", True, subject.NO_KEYS)
        assert second.engine.begun == []
        again, is_new = second.jobs.give("one", SYNC)
        assert (again.needs_credentials, is_new) == (False, False)
        await eventually(lambda: second.engine.begun == [SYNC])


async def test_what_waits_for_keys_holds_up_nothing_else(tmp_path: Path) -> None:
    """Whoever has the keys may never come back: the job may be deleted."""
    async with serving(tmp_path) as server:
        server.jobs.give("one", SYNC)
        await eventually(lambda: server.engine.begun == [SYNC])
    async with serving(tmp_path) as second:
        second.jobs.give("two", ClearOrder())
        await eventually(lambda: second.engine.begun == [ClearOrder()])
        assert (second.state("one"), second.state("two")) == ("Queued", "Running")


async def test_what_another_pod_did_not_end_is_not_begun_again(tmp_path: Path) -> None:
    """Its node was away: its work was done elsewhere, and to remove files again takes those that came since."""
    async with serving(tmp_path, "first") as server:
        server.jobs.give("ended", ClearOrder())
        await eventually(lambda: len(server.engine.begun) == 1)
        server.engine.succeed()
        server.jobs.give("open", RmrOrder(("old",)))
        await eventually(lambda: len(server.engine.begun) == 2)
    async with serving(tmp_path, "first") as restarted:
        await eventually(lambda: restarted.engine.begun == [RmrOrder(("old",))])
    async with serving(tmp_path, "second") as other:
        assert [(found.id, found.state) for found in other.jobs.all()] == [("ended", "Succeeded")]
        other.jobs.give("open", RmrOrder(("old",)))
        await eventually(lambda: other.engine.begun == [RmrOrder(("old",))])
    async with serving(tmp_path, "second") as again:
        await eventually(lambda: again.engine.begun == [RmrOrder(("old",))])


async def test_changed_keys_make_no_other_order(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.jobs.give("one", SYNC)
    renewed = SyncOrder(source="s3://b.host/x", credentials=Credentials("new", "new"))
    assert server.jobs.give("one", renewed)[1] is False


async def test_a_sync_without_keys_waits_for_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as first:
        first.jobs.give("one", SyncOrder(source="hdfs://host/x"))
        await eventually(lambda: first.engine.begun)
    async with serving(tmp_path) as second:
        await eventually(lambda: second.engine.begun)


async def test_old_operations_are_forgotten_and_new_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "MOST_FINISHED", 2)
    server = Server(tmp_path)
    for number in range(5):
        server.jobs.give(f"job{number}", ClearOrder())
        server.jobs.cancel(f"job{number}")
    server.jobs.give("open", ClearOrder())
    assert [operation.id for operation in server.jobs.all()] == ["job3", "job4", "open"]
    assert sorted(files(tmp_path)) == ["job3.json", "job4.json", "open.json"]


async def test_every_change_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.jobs.give("one", ClearOrder())
        await eventually(lambda: server.engine.begun)
        before = server.changes
        server.engine.succeed()
        await eventually(lambda: server.changes > before)


async def test_between_orders_the_engine_does_what_can_wait(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        for name in ("one", "two"):
            await eventually(lambda: server.engine.tending == 1)
            server.engine.begun.clear()
            server.jobs.give(name, ClearOrder())
            await eventually(lambda: server.engine.begun)
            assert server.engine.tending == 0
            server.engine.succeed()
    assert server.engine.tending == 0


async def test_what_can_wait_and_breaks_holds_up_no_order(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.engine.is_clumsy = True
        server.jobs.give("one", ClearOrder())
        await eventually(lambda: server.state("one") is OperationState.RUNNING)
        server.engine.succeed()
        await eventually(lambda: server.state("one") is OperationState.SUCCEEDED)
        await eventually(lambda: server.engine.tending == 1)
        server.jobs.give("two", ClearOrder())
        await eventually(lambda: server.state("two") is OperationState.RUNNING)
