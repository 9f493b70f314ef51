"""From changes to keys, from keys to workers: what a controller is, and the loop that runs it."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of
from paddle_operator.control.caches import Caches
from paddle_operator.control.calls import Caller, CallError, nobody
from paddle_operator.control.execute import ForeignObjectError
from paddle_operator.control.metrics import Metrics
from paddle_operator.control.outcome import Outcome, Terminal
from paddle_operator.control.plan import Plan
from paddle_operator.control.queue import Queue
from paddle_operator.control.store import Index, Store
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

log = logging.getLogger(__name__)
# Pods of one job change in bursts: one look and one status write for all of it.
SETTLE = 0.15
GRACE = 10.0
WARNINGS_REMEMBERED = 1000
Value = TypeVar("Value", bound=Hashable)


def own_key(manifest: Manifest) -> Iterable[Key]:
    return (key_of(manifest),)


def key_of_owner(kind: Kind) -> Callable[[Manifest], Iterable[Key]]:
    """Map an object to the one of this kind that controls it."""

    def keys(manifest: Manifest) -> Iterable[Key]:
        owner = controller_of(manifest)
        if owner is None or owner.get("kind") != kind.kind or _group(owner) != kind.group:
            return ()
        return (Key(key_of(manifest).namespace if kind.namespaced else "", owner["name"]),)

    return keys


def _group(owner: Manifest) -> str:
    return str(owner.get("apiVersion", "")).rpartition("/")[0]


@dataclass(frozen=True)
class Trigger:
    """Changes of these objects make these keys worth a look, once they have settled.

    `optional`: the controller works also where the cluster does not know the kind or does not let us look at it, and
    asks `World.serves` and `World.forbids` for it.
    """

    kind: Kind
    keys: Callable[[Manifest], Iterable[Key]] = own_key
    labels: str = ""
    settle: float = 0.0
    indexes: Mapping[str, Index] = field(default_factory=dict)
    optional: bool = False


@dataclass(frozen=True)
class World:
    """All that a reconcile may touch: what was seen, how to ask for more, how to write, what time it is.

    `serves` tells of a kind that is watched whether the cluster knows it, `forbids` whether we may not look at it.
    """

    client: Client
    stores: Mapping[Kind, Store]
    serves: Callable[[Kind], bool]
    execute: Callable[[Plan], Awaitable[Outcome]]
    now: Callable[[], datetime]
    forbids: Callable[[Kind], bool] = lambda _: False


# Asks for a key to be looked at, once so many seconds have passed.
Tell = Callable[[Key, float], None]
Source = Callable[[Tell], Coroutine[object, object, None]]


@dataclass(frozen=True)
class Controller:
    """`call` carries what plans ask of other servers; `sources` tell of changes that the API server knows nothing of.

    A source goes on for as long as there is work, and only while we lead.
    """

    name: str
    triggers: tuple[Trigger, ...]
    reconcile: Callable[[World, Key], Awaitable[Outcome]]
    workers: int = 4
    call: Caller = nobody
    sources: tuple[Source, ...] = ()


@contextlib.contextmanager
def contained(failed: Callable[[BaseException], None]) -> Iterator[None]:
    """Hand any failure to `failed` and go on: what one object breaks must not stop the others."""
    try:
        yield
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        failed(error)  # something that was waited for is cancelled, not we
    except Exception as error:  # noqa: BLE001 the one place where nothing may get through
        failed(error)


class Loop:
    def __init__(self, controller: Controller, world: World, metrics: Metrics, queue: Queue | None = None) -> None:
        self.controller = controller
        self.queue = queue or Queue()
        self._world = world
        self._metrics = metrics
        self._sources: list[tuple[Store, Callable[[Manifest], None]]] = []
        self._warned: set[tuple[str, Key]] = set()
        metrics.add_controller(controller.name, lambda: self.queue.depth)

    def connect(self, caches: Caches) -> None:
        """Watch what the controller asks for."""
        for trigger in self.controller.triggers:
            store = caches.watch(trigger.kind, trigger.labels, optional=trigger.optional)
            for name, index in trigger.indexes.items():
                store.add_index(name, self._guarded(f"index {name}", index))
            self._sources.append((store, self._listener(trigger)))

    def _listener(self, trigger: Trigger) -> Callable[[Manifest], None]:
        keys = self._guarded(f"keys of {trigger.kind.plural}", trigger.keys)

        def changed(manifest: Manifest) -> None:
            for key in keys(manifest):
                self.queue.add(key, trigger.settle)

        return changed

    def _guarded(
        self, what: str, function: Callable[[Manifest], Iterable[Value]]
    ) -> Callable[[Manifest], Iterable[Value]]:
        """Give nothing for an object that the function cannot read: it runs in the watch, which all depend on."""

        def values(manifest: Manifest) -> Iterable[Value]:
            found: dict[Value, None] = {}
            with contained(functools.partial(self._leave_out, what, key_of(manifest))):
                found |= dict.fromkeys(function(manifest))  # a value that cannot be hashed fails here
            return list(found)

        return values

    def _leave_out(self, what: str, key: Key, error: BaseException) -> None:
        """Tell it once for each object, count it each time."""
        self._metrics.left_out(self.controller.name)
        if (what, key) in self._warned:
            return
        if len(self._warned) >= WARNINGS_REMEMBERED:
            self._warned.clear()
        self._warned.add((what, key))
        log.warning(
            "object left out controller=%s function=%r key=%s: %s",
            self.controller.name,
            what,
            key,
            error,
            exc_info=error,
        )

    async def run(self, stop: asyncio.Event, grace: float = GRACE) -> None:
        """Work until asked to stop; what is in work then may end, but not for longer than `grace`."""
        self._begin()
        async with asyncio.TaskGroup() as group:
            sources = [group.create_task(source(self.queue.add)) for source in self.controller.sources]
            workers = [group.create_task(self._work()) for _ in range(self.controller.workers)]
            await stop.wait()
            self.queue.close()
            await asyncio.wait(workers, timeout=grace)
            for task in (*workers, *sources):
                task.cancel()

    def _begin(self) -> None:
        """Look at all there is, and from now on at what changes; who only waits to lead keeps no keys."""
        for store, changed in self._sources:
            store.listen(changed)
            for manifest in store:
                changed(manifest)

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)

    async def _attempt(self, key: Key) -> None:
        started = asyncio.get_running_loop().time()
        with contained(functools.partial(self._put_back, key, started)):
            self._finish(key, started, await self.controller.reconcile(self._world, key))

    def _finish(self, key: Key, started: float, outcome: Outcome) -> None:
        self.queue.forget(key)
        if isinstance(outcome, Terminal):
            self._count("terminal", started)
            log.info("stalled controller=%s key=%s reason=%s", self.controller.name, key, outcome.reason)
        else:
            self._count("done", started)
        if outcome.look_again is not None and outcome.look_again <= SETTLE:
            self.queue.settle(key, outcome.look_again)
        elif outcome.look_again is not None:
            self.queue.add(key, outcome.look_again)

    def _put_back(self, key: Key, started: float, error: BaseException) -> None:
        self._count("error", started)
        delay = self.queue.retry(key)
        self._metrics.retried(self.controller.name)
        # These are explained by their words; anything else is a defect, found by its trace.
        known = (errors.KubeError, ForeignObjectError, CallError)
        trace = None if isinstance(error, known) else error
        words = f"{type(error).__name__}: {error}"
        # What cannot be made in a namespace that goes is no trouble.
        level = logging.DEBUG if isinstance(error, errors.NamespaceEndsError) else logging.WARNING
        log.log(
            level,
            "reconcile failed controller=%s key=%s retry_in=%.1fs: %s",
            self.controller.name, key, delay, words, exc_info=trace,
        )  # fmt: skip

    def _count(self, result: str, started: float) -> None:
        self._metrics.reconciled(self.controller.name, result, asyncio.get_running_loop().time() - started)
