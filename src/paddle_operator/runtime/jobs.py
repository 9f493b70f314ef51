"""The operations of a runtime server: one at a time, in the order in which they were ordered."""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable

from msgspec.structs import replace

from paddle_operator.engines.operations import (
    Credentials,
    Operation,
    OperationState,
    Order,
    Progress,
    Result,
    SyncOrder,
    type_of,
    without_credentials,
)
from paddle_operator.engines.runtime import OperationError, Runtime
from paddle_operator.runtime.spool import Entry, Spool

# An operation that ends the server itself must not do so for ever.
MOST_STARTS = 10
MOST_FINISHED = 1000
RESUMED = "begun again: the server was restarted"
NO_KEYS = "waits for the source's keys, which are kept in memory only: give the same order again"
log = logging.getLogger(__name__)


class OtherOrderError(Exception):
    """The id belongs to another order."""


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(microsecond=0)


class Jobs:
    """What was ordered, is done, and was done."""

    def __init__(self, engine: Runtime, spool: Spool, on_change: Callable[[], None], pod: str = "") -> None:
        self._engine = engine
        self._pod = pod
        self._spool = spool
        self._on_change = on_change
        self._keys: dict[str, Credentials] = {}
        self._running: dict[str, asyncio.Task[tuple[Result, str]]] = {}
        self._more = asyncio.Event()
        self._entries: dict[str, Entry] = {}

    def resume(self) -> None:
        """Take up what an earlier server left; what it worked on is begun again.

        What another pod did not end is not: this was a node's that came back, and somebody else may have done it long
        ago. If it is still wanted, it is ordered anew.
        """
        for entry in self._spool.load():
            if entry.pod != self._pod and not entry.operation.state.is_final:
                log.info("dropped operation=%s type=%s of another pod", entry.operation.id, entry.operation.type)
                self._spool.remove(entry.operation.id)
                continue
            self._entries[entry.operation.id] = entry
            if entry.operation.state.is_final:
                continue
            if entry.is_cancelled:
                self._finish(entry, OperationState.CANCELLED, "")
            elif entry.starts >= MOST_STARTS:
                self._finish(entry, OperationState.FAILED, f"begun {entry.starts} times, and never ended")
            else:
                message = NO_KEYS if entry.has_keys else RESUMED if entry.operation.start_time else ""
                self._put(entry, state=OperationState.QUEUED, message=message, needs_credentials=entry.has_keys)

    def give(self, operation: str, order: Order) -> tuple[Operation, bool]:
        """Take an order, and tell whether it is new; the same order again only brings its keys."""
        self._engine.check(order)
        keys = order.credentials if isinstance(order, SyncOrder) else None
        known = self._entries.get(operation)
        if known is None:
            number = max((entry.number for entry in self._entries.values()), default=0) + 1
            made = Operation(operation, type_of(order), order_time=now())
            entry = Entry(number, without_credentials(order), made, has_keys=keys is not None, pod=self._pod)
            self._spool.save(entry)
        elif known.order != without_credentials(order):
            raise OtherOrderError
        elif keys is None or known.operation.state.is_final:
            return known.operation, False
        else:
            message = known.operation.message if known.operation.state == OperationState.RUNNING else ""
            kept = replace(known.operation, needs_credentials=False, message=message)
            entry = replace(known, has_keys=True, operation=kept)
        if keys:
            self._keys[operation] = keys
        self._save(entry)
        self._more.set()
        log.info("ordered operation=%s type=%s new=%s", operation, entry.operation.type, known is None)
        return entry.operation, known is None

    def cancel(self, operation: str) -> Operation | None:
        """End an operation; one that runs needs a moment for it."""
        entry = self._entries.get(operation)
        if entry is None or entry.operation.state.is_final:
            return entry.operation if entry else None
        # Written down first: killed now, it is not begun again.
        entry = self._save(replace(entry, is_cancelled=True))
        if running := self._running.get(operation):
            running.cancel()
        else:
            entry = self._finish(entry, OperationState.CANCELLED, "")
        log.info("cancelled operation=%s", operation)
        self._more.set()
        return entry.operation

    def get(self, operation: str) -> Operation | None:
        entry = self._entries.get(operation)
        return entry.operation if entry else None

    def all(self) -> list[Operation]:
        return [entry.operation for entry in self._entries.values()]

    async def work(self) -> None:
        """Carry out what is ordered, one after the other, until this is cancelled; what waits for keys is passed by."""
        while True:
            waiting = (one for one in self._entries.values() if not one.operation.state.is_final)
            entry = next((one for one in waiting if not one.operation.needs_credentials), None)
            if entry is None:
                self._more.clear()
                await self._rest()
            else:
                await self._carry_out(entry)

    async def _rest(self) -> None:
        """Wait for orders, and let the engine use the time."""
        tending = asyncio.create_task(self._engine.tend())
        try:
            await self._more.wait()
        finally:
            tending.cancel()
            (outcome,) = await asyncio.gather(tending, return_exceptions=True)
            if isinstance(outcome, Exception):
                log.error("what is done between orders broke", exc_info=outcome)

    async def _carry_out(self, entry: Entry) -> None:
        entry = self._save(replace(entry, starts=entry.starts + 1))
        operation = entry.operation.id
        begun = entry.operation.start_time or now()
        entry = self._put(entry, state=OperationState.RUNNING, start_time=begun)
        log.info("begun operation=%s type=%s", operation, entry.operation.type)
        order = entry.order
        if isinstance(order, SyncOrder):
            order = replace(order, credentials=self._keys.get(operation))
        task = self._running[operation] = asyncio.create_task(
            self._engine.run(order, lambda progress: self._tell(operation, progress))
        )
        try:
            result, message = await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._left(operation, task)
            self._finish(self._entries[operation], OperationState.CANCELLED, "")
        except OperationError as error:
            self._finish(self._entries[operation], OperationState.FAILED, str(error), error.result)
        except Exception as error:
            log.exception("operation broke operation=%s", operation)
            message = f"a defect of the server, {type(error).__name__}: see its log"
            self._finish(self._entries[operation], OperationState.FAILED, message)
        else:
            self._finish(self._entries[operation], OperationState.SUCCEEDED, message, result)
        finally:
            self._running.pop(operation, None)

    async def _left(self, operation: str, task: asyncio.Task[tuple[Result, str]]) -> None:
        """Go on if the operation was cancelled; if the server was, end both: its successor begins it again."""
        me = asyncio.current_task()
        if me and me.cancelling():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            entry = self._entries[operation]
            self._save(replace(entry, starts=entry.starts - 1))
            raise asyncio.CancelledError

    def _tell(self, operation: str, progress: Progress) -> None:
        """Show how far it is; that much need not outlive the process."""
        entry = self._entries[operation]
        self._entries[operation] = replace(entry, operation=replace(entry.operation, progress=progress))
        self._on_change()

    def _finish(self, entry: Entry, state: OperationState, message: str, result: Result | None = None) -> Entry:
        self._keys.pop(entry.operation.id, None)
        if entry.is_cancelled and state == OperationState.FAILED:
            state = OperationState.CANCELLED
        entry = self._put(entry, state=state, message=message, needs_credentials=False, end_time=now(), result=result)
        log.info("ended operation=%s state=%s message=%s", entry.operation.id, state, ascii(message))
        self._forget()
        return entry

    def _forget(self) -> None:
        finished = [name for name, entry in self._entries.items() if entry.operation.state.is_final]
        for name in finished[: max(len(finished) - MOST_FINISHED, 0)]:
            self._spool.remove(name)
            del self._entries[name]

    def _put(self, entry: Entry, **changes: object) -> Entry:
        return self._save(replace(entry, operation=replace(entry.operation, **changes)))

    def _save(self, entry: Entry) -> Entry:
        """Write it down; a full disk costs no more than doing something again after a restart."""
        try:
            self._spool.save(entry)
        except OSError as error:
            log.error("operation cannot be written operation=%s error=%s", entry.operation.id, error.strerror)  # noqa: TRY400 no defect of ours
        self._entries[entry.operation.id] = entry
        self._on_change()
        return entry
