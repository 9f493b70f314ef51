"""The list of files that a warm-up is about, written to disk while its beginning is fetched already."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from paddle_operator.engines.juicefs import expectation, places
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.fetching import LARGEST_LIST
from paddle_operator.engines.juicefs.identity import Identity
from paddle_operator.engines.juicefs.metadata import Metadata, opened
from paddle_operator.engines.juicefs.places import Entries, Found, PlaceError
from paddle_operator.engines.juicefs.redis import RedisError
from paddle_operator.engines.juicefs.selection import Roll, is_by_number, selected
from paddle_operator.engines.operations import WarmupOrder

log = logging.getLogger(__name__)
FIRST, BATCH = 1000, 4000
ASKED_AT_ONCE = 250
CONVERSATIONS = 4
# So many files are asked for both ways: another volume, or another JuiceFS, would say something else.
TRIED = 5


@dataclass
class Listing:
    """Files with their pieces, and how many there are so far."""

    mount: Path
    file: Path
    files: int = 0
    bytes: int = 0
    block_size: int | None = None
    dealt_from: str = ""
    _grown: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, order: WarmupOrder, metadata: Path | None, volume: Awaitable[Identity]) -> None:
        """Learn of every file and its pieces, from the metadata if they can be read, else from the client."""
        try:
            with contextlib.ExitStack() as stack:
                known = await volume
                told = await asyncio.to_thread(stack.enter_context, opened(metadata, known.uuid))
                self.block_size = known.block_size or (told.block_size if told else None)
                asked = Asked(self.mount, stack.enter_context(conversations()), told)
                roll = Roll()
                files = selected(self.mount, order, asked.entries, roll, self.file.parent)
                log.info("files are learned from=%s", "client" if told is None else "metadata")
                while records := await asyncio.to_thread(self._next, files, asked):
                    self.files += len(records)
                    self.bytes += sum(piece.length for record in records for piece in record.pieces or ())
                    self._grown.set()
                self.dealt_from = str(roll) if order.share and is_by_number(order.share) else ""
        finally:
            self._grown.set()

    def _next(self, files: Iterator[Found], asked: "Asked") -> list[Expected]:
        """Ask for a few at first, so that fetching begins soon, and for more each time."""
        records = asked.pieces(list(itertools.islice(files, min(max(self.files, FIRST), BATCH))))
        expectation.append(self.file, records)
        return records

    async def batches(self, writer: asyncio.Task[None]) -> AsyncIterator[list[Expected]]:
        """Give what is written, as it is written; what stopped the writer is raised here."""
        records, given = expectation.read(self.file), 0
        while not (writer.done() and given == self.files):
            if given == self.files:
                self._grown.clear()
                await self._grown.wait()
                continue
            batch = listful(itertools.islice(records, self.files - given))
            given += len(batch)
            yield batch
        await writer


def listful(records: Iterator[Expected]) -> list[Expected]:
    """Take as many as one list for the client has room for: between two lists it has nothing to do."""
    taken, left = list[Expected](), LARGEST_LIST
    while left >= places.LONGEST and (record := next(records, None)):
        taken.append(record)
        left -= len(record.path) + len(b"/\n")
    return taken


@contextlib.contextmanager
def conversations() -> Iterator[ThreadPoolExecutor]:
    """Give threads that ask the client; those that wait for one that hangs are not waited for."""
    pool = ThreadPoolExecutor(CONVERSATIONS, "pieces")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass
class Asked:
    """Who is asked for files: the metadata, as long as they say of the first ones what the client says."""

    mount: Path
    pool: ThreadPoolExecutor
    metadata: Metadata | None
    has_tried_entries: bool = False
    has_tried_pieces: bool = False

    def entries(self, here: Found) -> Entries:
        """Tell what is in a directory; what is in the mount's root the client knows alone: it may be any directory."""
        if self.metadata is not None and here.path != ".":
            try:
                told = self.metadata.entries(here)
            except RedisError:
                self._give_up()
            else:
                if self.has_tried_entries or self._are_true(told):
                    return told
        return places.entries(self.mount, here)

    def _are_true(self, told: Entries) -> bool:
        """Compare with what the client says; that nothing is there is no proof."""
        some = [found for part in told for found in part[:TRIED]]
        try:
            is_true = all(places.status(self.mount, PurePosixPath(one.path)).st_ino == one.inode for one in some)
        except PlaceError:
            is_true = False
        if not is_true:
            self._give_up()
        self.has_tried_entries = is_true and bool(some)
        return self.has_tried_entries

    def pieces(self, files: list[Found]) -> list[Expected]:
        if self.metadata is not None:
            with contextlib.suppress(RedisError):
                records = expectation.read_out(self.mount, files, self.metadata)
                if self.has_tried_pieces or records[:TRIED] == list(expectation.observed(self.mount, files[:TRIED])):
                    self.has_tried_pieces = True
                    return records
            self._give_up()
        parts = [files[start : start + ASKED_AT_ONCE] for start in range(0, len(files), ASKED_AT_ONCE)]
        answers = self.pool.map(lambda part: list(expectation.observed(self.mount, part)), parts)
        return list(itertools.chain.from_iterable(answers))

    def _give_up(self) -> None:
        self.metadata = None
        log.warning("the metadata cannot be used, so the client is asked")
