"""A sync: a source copied into the data set by JuiceFS, watched while it goes on, and summed up at its end."""

import asyncio
import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from paddle_operator.engines.juicefs import command, counters, flags, places
from paddle_operator.engines.juicefs.bars import Bar
from paddle_operator.engines.juicefs.confinement import confined
from paddle_operator.engines.juicefs.flags import Invocation
from paddle_operator.engines.juicefs.watching import watched
from paddle_operator.engines.operations import Progress, Result, SyncOrder
from paddle_operator.engines.runtime import OperationError, OrderError, Told

FOUND = re.compile(r"Found: (\d+)")
COUNTED = re.compile(r"(copied|skipped|deleted|failed): (\d+)")
SIZE = re.compile(r"(?:transferred: |copied: \d+ \()([\d.]+) ([KMGTPE]iB|B)")
UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}


def invocation(version: flags.Version, order: SyncOrder, mount: Path, sources: tuple[Path, ...]) -> Invocation:
    """Give the command, which can write to the data set and nowhere else; raise for what none can be made of.

    Whoever fills a directory that is copied may not have it lead to anything else that the server can read.
    """
    target = places.parse(order.destination) if order.destination else PurePosixPath()
    source = flags.parse_source(order.source)
    may_write, may_read = [str(mount)], list[str]()
    if source.scheme == "file":
        asked = Path(os.path.realpath(source.path))
        may_read = [str(allowed) for allowed in sources if asked.is_relative_to(allowed)]
        if not may_read:
            raise OrderError("a file:// source must be below a directory of the server's --source-dirs")
        may_write += [str(asked)] if order.delete_src else []
    made = flags.sync(version, order, str(mount / target), order.credentials)
    return replace(made, argv=confined(made.argv, may_write, may_read))


async def sync(command_line: Invocation, order: SyncOrder, mount: Path, told: Told) -> Result:
    if order.destination:
        await asyncio.to_thread(prepare, mount, places.parse(order.destination), is_made=not order.dry)
    before, bar = await asyncio.to_thread(counters.data, mount), Bar()
    async with watched(lambda: bar.progress(counters.difference(counters.data(mount), before)), told):
        ended = await command.run(command_line, bar.read)
    result = summed(ended.lines)
    if ended.code or result is None or result.failed:
        raise OperationError(f"juicefs sync failed: {ended.complaint}", result)
    told(Progress(result.files, result.files, result.bytes, result.bytes))
    return result


def prepare(mount: Path, destination: PurePosixPath, *, is_made: bool) -> None:
    """See that no symbolic link is on the way, whether or not anything is written."""
    if is_made:
        places.made_directory(mount, destination)
        return
    with contextlib.suppress(FileNotFoundError), places.directory(mount, destination.parts):
        pass


def summed(lines: Iterable[str]) -> Result | None:
    """Read the last line in which JuiceFS sums up; sizes are as exact as it writes them."""
    summary = next((line for line in reversed(list(lines)) if FOUND.search(line)), None)
    if summary is None:
        return None
    counted = {name: int(number) for name, number in COUNTED.findall(summary)}
    size = SIZE.search(summary)
    found = int(FOUND.findall(summary)[-1])
    copied = counted.get("copied", 0)
    return Result(
        files=found,
        bytes=int(float(size[1]) * UNITS[size[2]]) if size else 0,
        skipped=max(found - copied - counted.get("failed", 0), 0),
        failed=counted.get("failed", 0),
        deleted=counted.get("deleted", 0),
    )
