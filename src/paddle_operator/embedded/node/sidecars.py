"""The containers of a pod that begin before the main ones, run on beside them, and end after them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from paddle_operator.embedded.node.containerlife import ContainerLife


@dataclass(frozen=True)
class Sidecars:
    """`ending` is set when the pod is to end, and `grace` tells how long each may take for that."""

    ending: asyncio.Event
    grace: Callable[[], float]
    _running: list[tuple[ContainerLife, asyncio.Task[int]]] = field(default_factory=list)

    async def begin(self, life: ContainerLife) -> bool:
        """Start one, and return when it has started; False if the pod is to end instead."""
        self._running.append((life, asyncio.create_task(life.run())))
        waits = [asyncio.create_task(event.wait()) for event in (life.begun, self.ending)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not self.ending.is_set()

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep those that are begun meanwhile until the end, and then stop them, the last one first."""
        try:
            yield
        finally:
            for life, task in reversed(self._running):
                await life.stop(self.grace())
                await task
