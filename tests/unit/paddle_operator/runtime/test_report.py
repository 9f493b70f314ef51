"""Reports: fresh, bounded, and told to all who watch."""

import asyncio
import contextlib
import os
import threading

import msgspec
import pytest
from msgspec.structs import replace

from paddle_operator.controllers import runtimes
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.search import Findings
from paddle_operator.engines.juicefs.warmup import judged
from paddle_operator.engines.operations import MOST_NAMED, Operation, OperationState
from paddle_operator.engines.reports import Data, Report
from paddle_operator.engines.runtime import OperationError
from paddle_operator.runtime import report as subject
from paddle_operator.runtime.report import Bell, Reporter, newest
from support.eventually import eventually
from support.pretender import Pretender


def operations(state: OperationState, count: int) -> list[Operation]:
    return [Operation(f"{state.lower()}{number}", "clear", state) for number in range(count)]


def test_a_report_has_all_that_is_open_and_the_last_that_is_finished() -> None:
    finished, waiting = operations(OperationState.FAILED, 100), operations(OperationState.QUEUED, 3)
    assert newest([*finished, *waiting]) == (*finished[53:], *waiting)
    assert len(newest([*finished, *operations(OperationState.QUEUED, 200)])) == subject.MOST_OPERATIONS
    assert newest([]) == ()


@pytest.mark.parametrize("letter", ["a", "数", "😀", '"', "\\", "\1", "\udcff"])
def test_a_report_can_be_read_however_long_the_names_of_missing_files_are(letter: str) -> None:
    findings = Findings()
    for _ in range(2 * MOST_NAMED):
        findings.lack(Expected(os.fsencode(letter) * 4096, None), is_damaged=True)
    with pytest.raises(OperationError) as failed:
        judged(findings, "")
    message, result = str(failed.value), failed.value.result
    finished = [replace(one, message=message, result=result) for one in operations(OperationState.FAILED, 1000)]
    assert len(msgspec.json.encode(Report(operations=newest(finished)))) < runtimes.LONGEST_REPORT


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOKING", "SHORTEST_PAUSE", "HEARTBEAT", "PATIENCE"):
        monkeypatch.setattr(subject, name, 0.01)


async def test_a_watcher_is_told_at_once_and_of_changes_and_beaten_for_in_between() -> None:
    bell = Bell()
    told: list[Operation] = []
    reporter = Reporter(Pretender(), lambda: told, bell)
    changes = reporter.changes()
    async with contextlib.aclosing(changes):
        first = await anext(changes)
        assert first
        assert first.operations == ()
        assert await anext(changes) is None
        told.append(Operation("one", "clear"))
        bell.ring()
        found = await anext(changes)
        while found is None:
            found = await anext(changes)
        assert [operation.id for operation in found.operations] == ["one"]


async def test_a_change_during_the_pause_is_not_lost() -> None:
    bell = Bell()
    told: list[Operation] = []
    changes = Reporter(Pretender(), lambda: told, bell).changes()
    async with contextlib.aclosing(changes):
        await anext(changes)
        told.append(Operation("one", "clear"))
        bell.ring()
        found = await anext(changes)
        assert found
        assert found.operations


async def test_a_mount_that_does_not_answer_is_told_and_looked_at_again_when_it_does() -> None:
    answers = threading.Event()

    class Slow(Pretender):
        def observe(self) -> Report:
            answers.wait(10)
            return Report(mounted=True, data=Data(5, 1))

    reporter = Reporter(Slow(), list, Bell())
    looking = asyncio.create_task(reporter.look())
    await eventually(lambda: "did not answer" in reporter.report().message)
    assert not reporter.report().mounted
    answers.set()
    await eventually(lambda: reporter.report().mounted)
    looking.cancel()
    reporter.close()


async def test_who_hears_of_an_end_hears_what_it_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "LOOKING", 60.0)
    bell, told, held = Bell(), list[Operation](), [1]

    class Counting(Pretender):
        def observe(self) -> Report:
            return Report(mounted=True, data=Data(held[0], 1))

    reporter = Reporter(Counting(), lambda: told, bell)
    looking, changes = asyncio.create_task(reporter.look()), reporter.changes()
    async with contextlib.aclosing(changes):
        await eventually(lambda: reporter.report().mounted)
        await anext(changes)
        held[0] = 2
        told.append(Operation("one", "clear", OperationState.SUCCEEDED))
        bell.ring()
        found = await anext(changes)
        assert found
        assert (found.data.bytes, [operation.id for operation in found.operations]) == (2, ["one"])
    looking.cancel()
    reporter.close()
