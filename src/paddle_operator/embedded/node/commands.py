"""A command run inside of a container that runs, beside its own program."""

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NSENTER = ("nsenter", "--mount", "--uts", "--net", "--pid")


@dataclass(frozen=True)
class Inside:
    """A container from inside: a process of its own, and what its program was started with."""

    process: int
    environment: dict[str, str]
    directory: str = "/"


async def begin(inside: Inside, argv: Sequence[str], *, heard: bool, stdin: bool = False) -> Process:
    """Start a command there; unless it is heard, nobody learns what it prints."""
    place = () if inside.directory == "/" else ("env", f"--chdir={inside.directory}")
    output = PIPE if heard else DEVNULL
    return await asyncio.create_subprocess_exec(
        *(*NSENTER, f"--target={inside.process}", "--", *place, *argv),
        stdin=PIPE if stdin else DEVNULL,
        stdout=output,
        stderr=output,
        env=inside.environment,
    )


def process_inside(launcher: int) -> int:
    """Find the container's own first process by the one that waits for it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()[0])
    return launcher
