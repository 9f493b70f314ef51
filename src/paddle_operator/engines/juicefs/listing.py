"""The list of files that a warm-up is about, written to disk while its beginning is fetched already."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.engines.juicefs import expectation
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.places import Found

FIRST, BATCH = 1000, 4000
ASKED_AT_ONCE = 250
CONVERSATIONS = 4


@dataclass
class Listing:
    """Files with their pieces, and how many there are so far."""

    mount: Path
    file: Path
    files: int = 0
    bytes: int = 0
    _grown: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, files: Iterator[Found]) -> None:
        """Ask the client for the pieces of every file, in several conversations at once."""
        pool = ThreadPoolExecutor(CONVERSATIONS, "pieces")
        try:
            while records := await asyncio.to_thread(self._next, files, pool):
                self.files += len(records)
                self.bytes += sum(piece.length for record in records for piece in record.pieces or ())
                self._grown.set()
        finally:
            self._grown.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self, files: Iterator[Found], pool: ThreadPoolExecutor) -> list[Expected]:
        """Ask for a few at first, so that fetching begins soon, and for more each time."""
        some = list(itertools.islice(files, min(max(self.files, FIRST), BATCH)))
        parts = [some[start : start + ASKED_AT_ONCE] for start in range(0, len(some), ASKED_AT_ONCE)]
        answers = pool.map(lambda part: expectation.observed(self.mount, part), parts)
        records = list(itertools.chain.from_iterable(answers))
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
            batch = list(itertools.islice(records, min(BATCH, self.files - given)))
            given += len(batch)
            yield batch
        await writer
