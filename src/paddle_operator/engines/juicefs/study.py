"""Reads blocks at leisure that were seen to be cached, and remembers what they are like: to read them takes time."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paddle_operator.engines.juicefs import cachefiles, ledger
from paddle_operator.engines.juicefs.blocks import Block
from paddle_operator.engines.juicefs.ledger import Book, Ledger, Seen
from paddle_operator.engines.juicefs.search import TICK_NS

BATCH = 100
LOWEST_PRIORITY = 19
# A disk that hangs must not hold up what is ordered.
LONGEST_END = 5.0


async def study(ledgers: Path, caches: tuple[Path, ...]) -> None:
    """Read all that was never read, after everybody else; when this is cancelled, what was read is remembered."""
    over = threading.Event()
    # A thread of its own: its priority cannot be raised again.
    reader = ThreadPoolExecutor(1, "study", initializer=step_back)
    reading = asyncio.get_running_loop().run_in_executor(reader, learn, ledgers, caches, over.is_set)
    try:
        await asyncio.shield(reading)
    finally:
        over.set()
        await asyncio.wait([reading], timeout=LONGEST_END)
        reader.shutdown(wait=False)


def step_back() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


def learn(ledgers: Path, caches: tuple[Path, ...], is_over: Callable[[], bool]) -> None:
    for volume in ledger.volumes(ledgers):
        roots = tuple(map(str, cachefiles.raw_trees(caches, volume)))
        with Ledger(ledgers, volume).opened() as book:
            while not is_over() and book.enter():
                pass
            last = -1
            while not is_over() and (unread := book.unread(last, BATCH)):
                last = max(unread)
                note(book, roots, [*unread.values()], is_over)


def note(book: Book, roots: tuple[str, ...], unread: list[tuple[Block, Seen]], is_over: Callable[[], bool]) -> None:
    """Read what is as it was when it was seen; of what is gone, or changed before it was read, nothing is known."""
    if time.time_ns() - max(seen.changed for _, seen in unread) < TICK_NS:
        time.sleep(TICK_NS / 1e9)
    buffer = memoryview(bytearray(cachefiles.READ_SIZE))
    news, gone = dict[Block, Seen](), list[Block]()
    for block, seen in unread:
        if is_over():
            break
        copies = cachefiles.copies(roots, block)
        crc = cachefiles.checksum(copies[0].path, block.size, buffer) if copies else None
        # What changed while it was read has another time now.
        if crc is not None and seen.changed == copies[0].changed and copies == cachefiles.copies(roots, block):
            news[block] = Seen(seen.changed, crc)
        else:
            gone.append(block)
            cachefiles.discard(copies)
    book.remember(news, gone)
