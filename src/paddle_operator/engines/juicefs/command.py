"""Runs JuiceFS' commands: what they print is read as it comes, they end when we do, and no secret is kept."""

import asyncio
import contextlib
import os
import pty
import re
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import quote

from paddle_operator.engines.juicefs.flags import Invocation

LONGEST_LINE = 2000
LAST_LINES = 20
CHUNK = 1 << 16
# A sync that is told to end still finishes what it writes.
GRACE = 5.0
HIDDEN = "***"
# Hiding one or two letters would hide nothing and spoil every sentence.
SHORTEST_SECRET = 3
# A log line's time, process and place: left out, so that the same words are the same message.
PREFIX = re.compile(r"^\S+ \S+ juicefs\[\d+\] <([A-Z]+)>: |\x1b\[\d*m| \[\w+@[\w.]+:\d+\]$")
TROUBLE = re.compile(r"<(?:FATAL|ERROR)>")
# What is shown several times a second is told, and not kept: it would drive out what matters.
BAR = re.compile(r"^\[[^\]]*\] ")


@dataclass(frozen=True)
class Finished:
    """How a command ended, and the last of what it said."""

    code: int
    lines: tuple[str, ...]

    @property
    def complaint(self) -> str:
        """Give the last trouble that it told of, else its last words."""
        told = [line for line in self.lines if TROUBLE.search(line)] or list(self.lines)
        return PREFIX.sub("", told[-1]) if told else f"it ended with {self.code} and said nothing"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Hide secrets, also as they look in an address."""
    for secret in sorted((secret for secret in secrets if len(secret) >= SHORTEST_SECRET), key=len, reverse=True):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, HIDDEN)
    return text


async def run(invocation: Invocation, on_line: Callable[[str], None] = lambda _: None) -> Finished:
    """Run to the end; when this is cancelled, so is the command, with all that it started."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    async with output(is_terminal=invocation.on_terminal) as (stream, written):
        process = await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "--", *invocation.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            env={**invocation.defaults, **os.environ, **invocation.secrets},
            start_new_session=True,
        )
        written.close()
        try:
            async for line in lines(stream):
                said = redacted(line, invocation.secrets.values())[:LONGEST_LINE]
                on_line(said)
                if not BAR.match(said):
                    last.append(said)
            return Finished(await process.wait(), tuple(last))
        finally:
            await end(process)


@contextlib.asynccontextmanager
async def output(*, is_terminal: bool) -> AsyncIterator[tuple[asyncio.StreamReader, BinaryIO]]:
    """Have what a program writes to, and what is read of it; when it runs, the former is for us to close."""
    ours, theirs = terminal() if is_terminal else os.pipe()
    stream = asyncio.StreamReader()
    reading = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ours, "rb", 0)
    )
    try:
        with os.fdopen(theirs, "wb", 0) as written:
            yield stream, written
    finally:
        reading[0].close()


def terminal() -> tuple[int, int]:
    """Give both ends of a terminal; without any, of a pipe, which will do."""
    with contextlib.suppress(OSError):
        return pty.openpty()
    return os.pipe()


async def lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    """Give each line as it comes, and of endless ones the beginning."""
    rest = b""
    while chunk := await part(stream):
        *whole, rest = re.split(rb"[\r\n]+", rest + chunk)
        rest = rest[:CHUNK]
        for line in whole:
            if line.strip():
                yield line.decode(errors="replace")
    if rest.strip():
        yield rest.decode(errors="replace")


async def part(stream: asyncio.StreamReader) -> bytes:
    """Read some of it; that nobody has a terminal open any more is an error to the kernel, and its end to us."""
    with contextlib.suppress(OSError):
        return await stream.read(CHUNK)
    return b""


async def end(process: asyncio.subprocess.Process) -> None:
    """Ask its whole group to end, and see to it that it does."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
