"""Runs controllers: caches first, then the election, then the work; and stops them in order."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from aiohttp import web

from paddle_operator.api.manifest import Key
from paddle_operator.control import health
from paddle_operator.control.caches import Caches
from paddle_operator.control.calls import Call, Caller
from paddle_operator.control.controller import GRACE, Controller, Loop, World
from paddle_operator.control.execute import Executor
from paddle_operator.control.lease import Elector, LeadershipLostError, Timing
from paddle_operator.control.metrics import Metrics
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder
from paddle_operator.kube.watch import Pace

log = logging.getLogger(__name__)
FLUSH_SECONDS = 2.0


@dataclass(frozen=True)
class Election:
    lease: Key
    identity: str
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True)
class Settings:
    """`mark` is the annotation that says what was applied last; without `election` it acts at once."""

    mark: str
    namespace: str = ""
    election: Election | None = None
    metrics_address: health.Address | None = None
    health_address: health.Address | None = None
    grace: float = GRACE
    pace: Pace = field(default_factory=Pace)


class Manager:
    def __init__(self, client: Client, controllers: Sequence[Controller], settings: Settings) -> None:
        self.metrics = Metrics()
        self.caches = Caches(client, self.metrics, settings.namespace, settings.pace)
        self._settings = settings
        self._elector: Elector | None = None
        if settings.election is not None:
            election = settings.election
            self._elector = Elector(client, election.lease, election.identity, election.timing)
        # Asked before each sending, also of what is sent again: a paused process wakes up late.
        leading = client.guarded(self._check_leadership)
        self._recorder = Recorder(leading, client.field_manager)
        executor = Executor(leading, self.caches.stores, self._recorder, settings.mark)
        now, serves, forbids = lambda: datetime.now(UTC), self.caches.serves, self.caches.forbids
        world = World(leading, self.caches.stores, serves, executor.execute, now, forbids)
        self.loops = [
            Loop(
                controller,
                replace(world, execute=functools.partial(executor.execute, call=self._guarded(controller.call))),
                self.metrics,
            )
            for controller in controllers
        ]
        for loop in self.loops:
            loop.connect(self.caches)

    async def run(self, stop: asyncio.Event) -> None:
        """Go on until asked to stop. A part that breaks for a reason nobody foresaw ends all of it, with its trace."""
        async with health.serving(self._routes()) as ports, asyncio.TaskGroup() as group:
            for address, port in ports.items():
                log.info("listening address=%s:%s", address.host or "", port)
            background = [group.create_task(watch.run()) for watch in self.caches.watches]
            background.append(group.create_task(self._recorder.run()))
            try:
                await self._lead(stop)
            finally:
                for task in background:
                    task.cancel()
        log.info("stopped")

    def _check_leadership(self) -> None:
        if self._elector is not None:
            self._elector.check()

    def _guarded(self, call: Caller) -> Caller:
        """Carry an order to another server only while we lead, as what is written to the API server."""

        async def guarded(asked: Call) -> None:
            self._check_leadership()
            await call(asked)

        return guarded

    def _routes(self) -> dict[health.Address, list[web.RouteDef]]:
        wanted = (
            (self._settings.health_address, health.probes(lambda: self.caches.missing)),
            (self._settings.metrics_address, health.metrics(self.metrics.registry)),
        )
        routes: dict[health.Address, list[web.RouteDef]] = {}
        for address, handlers in wanted:
            if address is not None:
                routes.setdefault(address, []).extend(handlers)
        return routes

    async def _lead(self, stop: asyncio.Event) -> None:
        if self._elector is None:
            await self._work(stop)
            return
        if not await _unless(stop, self._elector.acquire()):
            return
        working = asyncio.create_task(self._work(stop))
        keeping = asyncio.create_task(self._elector.keep())
        try:
            await asyncio.wait([working, keeping], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                keeping.result()
                raise LeadershipLostError(
                    f"the lease {self._settings.election and self._settings.election.lease} is lost"
                )
            working.result()
        finally:
            await _cancel(working, keeping)
        await self._elector.release()

    async def _work(self, stop: asyncio.Event) -> None:
        if not await _unless(stop, self.caches.synced()):
            return
        self.metrics.lead(leading=True)
        log.info("working controllers=%s", ",".join(loop.controller.name for loop in self.loops) or "none")
        async with asyncio.TaskGroup() as group:
            for loop in self.loops:
                group.create_task(loop.run(stop, self._settings.grace))
            await stop.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._recorder.flush()
        self.metrics.lead(leading=False)


async def _unless(stop: asyncio.Event, wanted: Coroutine[object, object, None]) -> bool:
    """Wait for it unless asked to stop; tell whether it came to its end."""
    task, stopped = asyncio.create_task(wanted), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return task.done()
    finally:
        await _cancel(task, stopped)


async def _cancel(*tasks: asyncio.Task[None] | asyncio.Task[Literal[True]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
