"""One manager on one stage: a burst of crews, a rest with many of them, a restart on those."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from crews.process import Program, Running, running
from crews.stage import Stage

# The longest that anything is waited for; whoever takes longer gets no figure.
PATIENCE = 120.0
# kopf's workers go after 5 seconds without work: until then a burst is not over.
TAIL = 6.0


@dataclass(frozen=True)
class Trial:
    """`note` is told each figure as soon as there is one: what comes later may never come."""

    program: Program
    stage: Stage
    log: Path
    note: Callable[[str, float], None]

    def manager(self) -> AbstractAsyncContextManager[Running]:
        return running(self.program, self.stage.namespace, self.log)


def names(count: int) -> list[str]:
    return [f"crew-{number:04}" for number in range(count)]


async def burst(trial: Trial, count: int) -> None:
    async with trial.manager() as manager:
        await warm_up(trial.stage)
        cpu, writes = manager.cpu, trial.stage.writes
        trial.note("at once: to the last status", await fill(trial.stage, names(count)))
        await asyncio.sleep(TAIL)
        trial.note("at once: CPU", manager.cpu - cpu)
        trial.note("at once: peak memory", manager.peak)
        trial.note("at once: writes", trial.stage.writes - writes - count)


async def rest(trial: Trial, count: int, seconds: float) -> None:
    async with trial.manager() as manager:
        await warm_up(trial.stage)
        await fill(trial.stage, names(count))
        await asyncio.sleep(TAIL)
        cpu, writes = manager.cpu, trial.stage.writes
        await asyncio.sleep(seconds)
        trial.note("at rest: writes", trial.stage.writes - writes)
        trial.note("at rest: CPU", (manager.cpu - cpu) / seconds * 100)
        trial.note("at rest: resident memory", manager.memory)


async def restart(trial: Trial, count: int) -> None:
    writes = trial.stage.writes
    async with trial.manager() as manager:
        async with asyncio.timeout(PATIENCE):
            last = await manager.called.last_of(set(names(count)))
        trial.note("restart: until each was looked at", last - manager.begun)
        await asyncio.sleep(TAIL)
        trial.note("restart: writes", trial.stage.writes - writes)
        trial.note("restart: resident memory", manager.memory)


async def warm_up(stage: Stage) -> None:
    """Let the manager do everything once: only then is it known to be ready."""
    await fill(stage, ["warm-up"])


async def fill(stage: Stage, crews: list[str]) -> float:
    """Submit them, and give the seconds until the last one is complete."""
    async with asyncio.timeout(PATIENCE):
        begun = time.monotonic()
        submitted = await stage.submit(crews)
        return await stage.audience.complete.last_of(submitted) - begun
