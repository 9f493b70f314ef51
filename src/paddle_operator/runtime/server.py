"""A runtime server as a whole: from the first look at the spool to a clean stop."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from paddle_operator.engines.runtime import Runtime
from paddle_operator.runtime.app import App
from paddle_operator.runtime.jobs import Jobs
from paddle_operator.runtime.report import Bell, Reporter
from paddle_operator.runtime.spool import Spool

# Watches never end by themselves.
SHUTDOWN = 0.5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """Where a server listens, whom it believes, and where it keeps its orders; `pod` is the uid of its own."""

    token_file: Path
    spool: Path
    port: int
    host: str | None = None
    pod: str = ""


async def serve(engine: Runtime, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; what runs then is begun again by the next server on this spool."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    spool = Spool(settings.spool)
    with spool.held():
        bell = Bell()
        jobs = Jobs(engine, spool, bell.ring, settings.pod)
        reporter = Reporter(engine, jobs.all, bell)
        jobs.resume()
        async with asyncio.TaskGroup() as group, running(App(jobs, reporter), settings) as port:
            working = [group.create_task(jobs.work()), group.create_task(reporter.look())]
            log.info("serving port=%d", port)
            await stop.wait()
            log.info("stopping")
            for task in working:
                task.cancel()
        reporter.close()


@contextlib.asynccontextmanager
async def running(app: App, settings: Settings) -> AsyncIterator[int]:
    runner = web.AppRunner(app.application(settings.token_file), access_log=None, shutdown_timeout=SHUTDOWN)
    await runner.setup()
    try:
        await web.TCPSite(runner, settings.host, settings.port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
