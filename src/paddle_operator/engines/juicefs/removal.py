"""Removing: what paths name in the data set, and the blocks in cache directories. Nothing else, ever."""

import asyncio
import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path, PurePosixPath

from paddle_operator.engines.juicefs import cachefiles, control, counters, ledger, places
from paddle_operator.engines.juicefs.control import Control, ControlError
from paddle_operator.engines.juicefs.fetching import Place
from paddle_operator.engines.juicefs.watching import watched
from paddle_operator.engines.operations import ClearOrder, Progress, Result, RmrOrder
from paddle_operator.engines.reports import Data
from paddle_operator.engines.runtime import OrderError, Told

MOST_PATHS = 10_000
MOST_NAMED = 10
LONGEST_MEMORY = 5.0
# A client that is there answers at once, also where its metadata cannot be reached.
PATIENCE = 10.0
PAUSE = 0.05
RESTING = 0.3
UNIT = 4 << 10


def parse_paths(order: RmrOrder) -> list[PurePosixPath]:
    if not 0 < len(order.paths) <= MOST_PATHS:
        raise OrderError(f"an rmr needs from one to {MOST_PATHS} paths")
    return [places.parse(path) for path in order.paths]


def meant_caches(order: ClearOrder, caches: tuple[Path, ...]) -> tuple[Path, ...]:
    """Give the cache directories that are meant, each of which must be one of ours."""
    if len(order.paths) > MOST_PATHS:
        raise OrderError(f"a clear takes at most {MOST_PATHS} paths")
    asked = {Path(path.removesuffix("*").rstrip("/") or "/") for path in order.paths}
    if asked - set(caches):
        raise OrderError(
            f"a path to clear must be a cache directory; there are {', '.join(map(str, caches)) or 'none'}"
        )
    return tuple(path for path in caches if path in asked or not asked)


async def rmr(order: RmrOrder, mount: Path, told: Told) -> tuple[Result, str]:
    """Remove paths; one that is not there is as it should be, so that a second run ends as the first."""
    paths, absent = parse_paths(order), []
    with stopping() as is_cancelled:
        total = await asyncio.to_thread(counted, mount, paths, is_cancelled)
        before = await asyncio.to_thread(counters.data, mount)
        told(progress(Data(), total))
        async with (
            watched(lambda: progress(counters.difference(before, counters.data(mount)), total), told),
            talking(mount) as client,
        ):
            for path in paths:
                there = await seen_through(asyncio.to_thread(remove, mount, path, is_cancelled), client)
                absent += [] if there else [ascii(str(path))]
    await asyncio.to_thread(await_absence, [mount / path for path in paths])
    gone = await asyncio.to_thread(settled, mount, before, total)
    told(progress(gone, gone))
    result = Result(deleted=gone.files, bytes=gone.bytes)
    return result, f"{len(absent)} paths were not there: {', '.join(absent[:MOST_NAMED])}" if absent else ""


def progress(gone: Data, total: Data) -> Progress:
    """Say how much is gone of what is to go; others may remove something, too."""
    if not total.files:
        return Progress(gone.files, 0, gone.bytes, 0)
    return Progress(min(gone.files, total.files), total.files, min(gone.bytes, total.bytes), total.bytes)


def counted(mount: Path, paths: list[PurePosixPath], is_cancelled: Callable[[], bool]) -> Data:
    """Count what is to go as the volume counts it: directories too, and whole units of 4 KiB."""
    files = size = 0
    with control.opened(mount, is_cancelled) as client:
        for path in paths:
            with contextlib.suppress(FileNotFoundError), places.directory(mount, path.parts[:-1]) as parent:
                found = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    files, size = files + 1, size + -(-found.st_size // UNIT) * UNIT
                elif summary := counters.parse_summary(client.info(found.st_ino, is_deep=True)):
                    files, size = files + summary.files, size + summary.bytes
                else:
                    return Data()
    return Data(size, files)


def settled(mount: Path, before: Data, total: Data) -> Data:
    """Give by how much the volume shrank, once its counters tell of all that was to go, and rest.

    While the client hands them on, they tell too little, and that takes longer where the processors are busy. If others
    write, too, they may never tell as much: then it is what they tell at last.
    """
    until = time.monotonic() + LONGEST_MEMORY
    found, since = counters.data(mount), time.monotonic()
    while (now := time.monotonic()) < until:
        if now >= since + RESTING and counters.difference(before, found).files >= total.files:
            break
        time.sleep(PAUSE)
        if (told := counters.data(mount)) != found:
            found, since = told, time.monotonic()
    return counters.difference(before, found)


def remove(mount: Path, path: PurePosixPath, is_cancelled: Callable[[], bool]) -> bool:
    """Remove one path and all below it; tell whether it was there.

    The client is given the directory that was opened, not its name: nobody can put another one in its place.
    """
    with contextlib.suppress(FileNotFoundError), places.directory(mount, path.parts[:-1]) as parent:
        os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        with control.opened(mount, is_cancelled) as client:
            if is_cancelled():
                raise ControlError(errno.ECANCELED, "it was cancelled")
            client.remove(os.fstat(parent).st_ino, os.fsencode(path.name))
        return True
    return False


async def seen_through(removal: Awaitable[bool], client: Control) -> bool:
    """Wait for what was asked of the client, also when cancelled, and cancelled again: it goes on all the same.

    Only a client that answers nothing any more is left to itself.
    """
    task = asyncio.ensure_future(removal)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        silence = asyncio.create_task(silent(client))
        while not (task.done() or silence.done()):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task, silence], return_when=asyncio.FIRST_COMPLETED)
        silence.cancel()
        # It may have failed, and nobody is to hear of it any more.
        _ = task.done() and task.exception()
        raise


async def silent(client: Control) -> None:
    """Greet the client again and again until it does not answer."""
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            await asyncio.wait_for(asyncio.to_thread(client.greet), PATIENCE)
            await asyncio.sleep(RESTING)


@contextlib.asynccontextmanager
async def talking(mount: Path) -> AsyncIterator[Control]:
    """Begin a conversation; its end is not waited for: where the client hangs, that hangs, too."""
    stack = contextlib.ExitStack()
    try:
        yield await asyncio.to_thread(stack.enter_context, control.opened(mount))
    finally:
        asyncio.get_running_loop().run_in_executor(None, stack.close)


def await_absence(paths: list[Path]) -> None:
    """Wait until the mount forgot them, too: the kernel keeps names for a second, or as long as it was told."""
    until = time.monotonic() + LONGEST_MEMORY
    while any(os.path.lexists(path) for path in paths) and time.monotonic() < until:
        time.sleep(PAUSE)


async def clear(order: ClearOrder, place: Place, told: Told) -> Result:
    gone = cachefiles.Holding()
    if order.forget:
        await asyncio.to_thread(ledger.forget, place.ledgers)
    trees = tuple(cachefiles.raw_trees(meant_caches(order, place.caches)))
    total = await asyncio.to_thread(cachefiles.Inventory().count, trees)
    with stopping() as is_cancelled:
        for tree in trees:
            removed = cachefiles.remove_blocks(tree, is_cancelled)
            while (leaf := await asyncio.to_thread(next, removed, None)) is not None:
                gone += leaf
                # What came since it was counted goes as well.
                blocks, size = max(total.blocks, gone.blocks), max(total.bytes, gone.bytes)
                told(Progress(gone.blocks, blocks, gone.bytes, size))
    told(Progress(gone.blocks, gone.blocks, gone.bytes, gone.bytes))
    return Result(deleted=gone.blocks, bytes=gone.bytes)


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Let a thread know that nobody waits for it any more."""
    over = threading.Event()
    try:
        yield over.is_set
    finally:
        over.set()
