"""A container from its first start to its last end: started, probed, started again after a pause, and stopped."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.node import commands, containers, podstatus, probes
from paddle_operator.embedded.node.commands import Inside
from paddle_operator.embedded.node.containers import Process, StartError
from paddle_operator.embedded.node.launch import CANNOT_START, Spec
from paddle_operator.embedded.node.podstatus import ContainerState
from paddle_operator.embedded.node.sources import ConfigurationError
from paddle_operator.kube.backoff import Backoff

log = logging.getLogger(__name__)
CRASHES = Backoff(first=10.0, longest=300.0)
# A configuration that somebody may still correct.
CORRECTED = 2.0
LONG_ENOUGH = 600.0
LONGEST_LOG = 64 << 20


@dataclass
class ContainerLife:
    """`specify` says how to start it; `changed` is told whenever its state has changed.

    An init container's good end is told together with what follows it, as a kubelet does. `grace` is how long it may
    take to end when a probe has failed. `inside` is the way into it while it runs; `begun` says that it has started,
    once and for all.
    """

    container: Manifest
    address: str
    policy: str
    specify: Callable[[], Awaitable[Spec]]
    log: Callable[[int], Path]
    changed: Callable[[], Awaitable[None]]
    state: ContainerState
    grace: float
    is_first: bool = False
    inside: Inside | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _process: Process | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> int:
        """Run it until it is over by its policy, and give its last exit code."""
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            code = await self._once()
            if self._stop.is_set() or self._is_over(code):
                return code
            failures = 1 if asyncio.get_running_loop().time() - began > LONG_ENOUGH else failures + 1
            await self._pause(failures)
            if self._stop.is_set():
                return code
            self.state.restarts += 1

    async def stop(self, grace: float) -> None:
        """Ask it to end, and after a while make it; one that is being started is there in a moment."""
        self._stop.set()
        async with self._starting:
            process = self._process
        if process is None:
            return
        process.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await process.wait()
        process.kill()
        await process.wait()

    def _is_over(self, code: int) -> bool:
        return self.policy == "Never" or (self.policy == "OnFailure" and code == 0)

    async def _once(self) -> int:
        spec = await self._specified()
        began = datetime.now(UTC)
        place = self.log(self.state.restarts)
        try:
            process = await self._started(spec, place)
        except StartError as error:
            log.warning("not started container=%s: %s", self.state.name, error)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a") as file:
                file.write(f"{error}\n")
            return await self._ended(began, CANNOT_START + 1, str(error), reason="StartError")
        if spec is None or process is None:
            return await self._ended(began, 0, "")
        self.inside = Inside(commands.process_inside(process.number), dict(spec.environment), spec.directory)
        self.state.identity = f"process://{process.number}"
        self.state.state = podstatus.running(began)
        if "startupProbe" not in self.container:
            self._note_start()
        await self.changed()
        code = await self._watched(process, self.inside, place)
        return await self._ended(began, code, "")

    async def _started(self, spec: Spec | None, place: Path) -> Process | None:
        """Start it, unless it is to end already."""
        async with self._starting:
            if spec is not None and not self._stop.is_set():
                self._process = await containers.start(spec, place)
            return self._process

    def _note_start(self) -> None:
        self.state.started, self.state.ready = True, "readinessProbe" not in self.container
        self.state.begun = True
        self.begun.set()

    async def _specified(self) -> Spec | None:
        """Find out how to start it; what is wrong is said, and may be corrected meanwhile."""
        while not self._stop.is_set():
            try:
                return await self.specify()
            except ConfigurationError as error:
                self.state.state = podstatus.waiting("CreateContainerConfigError", str(error))
                await self.changed()
                await self._sleep(CORRECTED)
        return None

    async def _watched(self, process: Process, inside: Inside, place: Path) -> int:
        tasks = [asyncio.create_task(self._probe(process, inside)), asyncio.create_task(_shorten(place))]
        try:
            return await process.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self, process: Process, inside: Inside) -> None:
        subject = probes.Subject(self.address, self.container, inside)
        if startup := self.container.get("startupProbe"):
            await self._until_started(startup, subject, process)
        async with asyncio.TaskGroup() as group:
            if liveness := self.container.get("livenessProbe"):
                group.create_task(
                    probes.follow(liveness, subject, begin=True, told=lambda _: self._fail(process, liveness))
                )
            if readiness := self.container.get("readinessProbe"):
                group.create_task(self._follow_readiness(readiness, subject))

    async def _until_started(self, probe: Manifest, subject: probes.Subject, process: Process) -> None:
        how, failures = probes.pace(probe), 0
        await asyncio.sleep(how.delay)
        while failures < how.failures:
            answer = await probes.ask(probe, subject, how.timeout)
            if answer:
                self._note_start()
                await self.changed()
                return
            failures += answer is False
            await asyncio.sleep(how.period)
        self._fail(process, probe)

    def _fail(self, process: Process, probe: Manifest) -> None:
        """Make an end of a container that does not live as it should; its pod's policy says what then."""
        process.stop()
        grace = probe.get("terminationGracePeriodSeconds")
        asyncio.get_running_loop().call_later(self.grace if grace is None else float(grace), process.kill)

    async def _follow_readiness(self, probe: Manifest, subject: probes.Subject) -> None:
        news: asyncio.Queue[bool] = asyncio.Queue()
        following = asyncio.create_task(probes.follow(probe, subject, begin=False, told=news.put_nowait))
        try:
            while True:
                self.state.ready = await news.get()
                await self.changed()
        finally:
            following.cancel()

    async def _ended(self, began: datetime, code: int, message: str, reason: str = "") -> int:
        self._process = self.inside = None
        state = podstatus.terminated(code, began, datetime.now(UTC), message)
        if reason:
            state["terminated"]["reason"] = reason
        self.state.state, self.state.ready, self.state.started = state, self.is_first and code == 0, False
        if code or not self.is_first:
            await self.changed()
        return code

    async def _pause(self, failures: int) -> None:
        """Wait before it is started again; the first time not at all."""
        self.state.last = self.state.state
        if failures == 1:
            return
        seconds = CRASHES.after(failures - 1)
        words = f"back-off {seconds:.0f}s restarting failed container={self.state.name}"
        self.state.state = podstatus.waiting("CrashLoopBackOff", words)
        await self.changed()
        await self._sleep(seconds)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()


async def _shorten(place: Path) -> None:
    """Let nobody who prints without end fill the disk."""
    while True:
        await asyncio.sleep(10)
        await asyncio.to_thread(_cut, place)


def _cut(place: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if place.stat().st_size > LONGEST_LOG:
            os.truncate(place, 0)
