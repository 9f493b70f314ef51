"""A container as a process: started, asked to end, killed, and what it printed."""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddle_operator.embedded.node import launch
from paddle_operator.embedded.node.launch import KILL, Spec
from paddle_operator.embedded.node.programs import SOURCE

LONGEST_WORDS = 4096


class StartError(Exception):
    """A container could not be started; the message says why."""


@dataclass(frozen=True)
class Process:
    """A container that was started; its exit code is that of a container, 128 and more for signals."""

    process: asyncio.subprocess.Process

    @property
    def number(self) -> int:
        return self.process.pid

    async def wait(self) -> int:
        return await self.process.wait()

    def stop(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Have it killed, and its children with it, by who waits for it."""
        self._send(KILL)

    def _send(self, number: signal.Signals) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)


async def start(spec: Spec, log: Path) -> Process:
    """Start a container, and return when its own program runs."""
    told, report = os.pipe()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", launch.__name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": SOURCE},
            pass_fds=(spec.network, report),
            start_new_session=True,
        )
    os.close(report)
    await _tell(process, msgspec.structs.replace(spec, report=report))
    words = await _read_to_end(told)
    if words:
        await process.wait()
        raise StartError(words)
    return Process(process)


async def _tell(process: asyncio.subprocess.Process, spec: Spec) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(ConnectionError):  # it has ended, and said why
        process.stdin.write(msgspec.json.encode(spec))
        await process.stdin.drain()
    process.stdin.close()


async def _read_to_end(descriptor: int) -> str:
    """Read until the other end is closed: by the program's start, or by its end."""
    reader = asyncio.StreamReader()
    with os.fdopen(descriptor, "rb") as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            return (await reader.read(LONGEST_WORDS)).decode(errors="replace")
        finally:
            transport.close()


def last_words(log: Path, size: int = LONGEST_WORDS) -> str:
    """Give the end of what a container printed."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - size))
            return file.read(size).decode(errors="replace")
    except OSError:
        return ""
