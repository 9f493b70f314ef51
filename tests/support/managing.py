"""Managers inside the test's own process: quick to try again, and ended as by a crash."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client

QUICKLY = Backoff(0.01, 0.1)


@contextlib.asynccontextmanager
async def managed(client: Client, controllers: Sequence[Controller], settings: Settings) -> AsyncIterator[Manager]:
    """Let a manager work as long as the `async with`."""
    manager = Manager(client, controllers, settings)
    for loop in manager.loops:
        loop.queue._backoff = QUICKLY
    task = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield manager
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def is_idle(manager: Manager) -> bool:
    queues = [loop.queue for loop in manager.loops]
    return all(not (queue._waiting or queue._again or queue._in_work or queue._timers) for queue in queues)


def passes(manager: Manager, controller: str) -> float:
    """Count the reconciles that came to their end."""
    return float(manager.metrics._reconciles.labels(controller, "done")._value.get())
