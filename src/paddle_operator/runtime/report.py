"""How a partition stands, looked at again and again, and given to all who watch."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from paddle_operator.engines.operations import Operation
from paddle_operator.engines.reports import Report
from paddle_operator.engines.runtime import Runtime

MOST_OPERATIONS = 50
LOOKING = 3.0
# A mount whose metadata cannot be reached answers nothing, not even that.
PATIENCE = 10.0
SHORTEST_PAUSE = 1.0
HEARTBEAT = 10.0
# Who is told that an operation has ended is told what it left behind, unless that cannot be seen by then.
FRESH_WITHIN = 2.0
log = logging.getLogger(__name__)


class Bell:
    """Word to all who wait for a change."""

    def __init__(self) -> None:
        self.next = asyncio.Event()

    def ring(self) -> None:
        self.next.set()
        self.next = asyncio.Event()


class Reporter:
    """The last report, and word to those who wait for the next."""

    def __init__(self, engine: Runtime, operations: Callable[[], list[Operation]], bell: Bell) -> None:
        self._engine = engine
        self._operations = operations
        self._bell = bell
        self._seen = Report(message="not looked at yet")
        self._ended: frozenset[str] = frozenset()
        self._pool = ThreadPoolExecutor(1, "observe")

    def report(self) -> Report:
        return replace(self._seen, operations=newest(self._operations()))

    async def look(self) -> None:
        """Look again and again; one look at a time, also when it never ends."""
        loop = asyncio.get_running_loop()
        while True:
            ended = self._endings()
            looking = loop.run_in_executor(self._pool, self._engine.observe)
            done, _ = await asyncio.wait([looking], timeout=PATIENCE)
            if not done:
                self._note(ended)
                self._see(replace(self._seen, mounted=False, message=f"the mount did not answer for {PATIENCE:.0f} s"))
            try:
                self._see(await looking)
            except OSError as error:
                self._see(replace(self._seen, mounted=False, message=f"it cannot be looked at: {error.strerror}"))
            self._note(ended)
            await self._until(lambda: self._endings() != self._ended, LOOKING)

    def _note(self, ended: frozenset[str]) -> None:
        """Note after which operations was looked."""
        if ended != self._ended:
            self._ended = ended
            self._bell.ring()

    def _endings(self) -> frozenset[str]:
        return frozenset(one.id for one in self._operations() if one.state.is_final)

    async def _until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until it holds, as far as the bell tells, and no longer than so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    await self._bell.next.wait()

    def _see(self, report: Report) -> None:
        if report != self._seen:
            if report.message != self._seen.message:
                log.info("observed mounted=%s message=%s", report.mounted, report.message)
            self._seen = report
            self._bell.ring()

    async def changes(self) -> AsyncGenerator[Report | None]:
        """Give the report at once and whenever it changed, and None now and then when it did not."""
        while True:
            await self._until(lambda: self._endings() == self._ended, FRESH_WITHIN)
            changed, report = self._bell.next, self.report()
            yield report
            await asyncio.sleep(SHORTEST_PAUSE)
            while not changed.is_set():
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
                except TimeoutError:
                    yield None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def newest(operations: list[Operation]) -> tuple[Operation, ...]:
    """Give all that is not finished, and the last that is: a report has a bounded length."""
    open_ones = [one for one in operations if not one.state.is_final][:MOST_OPERATIONS]
    finished = [one for one in operations if one.state.is_final]
    kept = finished[len(finished) - min(len(finished), MOST_OPERATIONS - len(open_ones)) :]
    return (*kept, *open_ones)
