"""Looks for blocks in a volume's cache: each must be there, whole, and with the bytes that were first read."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.engines.juicefs import cachefiles, expectation, ledger
from paddle_operator.engines.juicefs.blocks import USUAL_BLOCK_SIZE, Block, Slice, blocks_of, first_blocks
from paddle_operator.engines.juicefs.cachefiles import Copy
from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.identity import Identity
from paddle_operator.engines.juicefs.ledger import Book, Ledger, Seen
from paddle_operator.engines.operations import MOST_NAMED

# So many blocks are looked at together.
BATCH = 1000
READERS = min(os.cpu_count() or 1, 4)
# Two changes within a tick of the kernel's clock bear the same time: what has just changed is read a little later.
TICK_NS = 20_000_000
Sought = list[tuple[Expected, list[Block]]]


@dataclass
class Findings:
    """What was looked for, and what was there; what is damaged is among the missing."""

    files: int = 0
    bytes: int = 0
    expected: int = 0
    present: int = 0
    missing_files: int = 0
    missing: list[str] = field(default_factory=list)
    damaged_files: int = 0
    damaged: list[str] = field(default_factory=list)
    trouble: str = ""

    def lack(self, record: Expected, *, is_damaged: bool) -> None:
        name = expectation.shown(record.path)
        self.missing_files += 1
        self.damaged_files += is_damaged
        if len(self.missing) < MOST_NAMED:
            self.missing.append(name)
        if is_damaged and len(self.damaged) < MOST_NAMED:
            self.damaged.append(name)


@dataclass(frozen=True)
class Verdict:
    """Which blocks are there as they should be, which have other bytes, and the files that are of no use."""

    present: set[Block]
    damaged: set[Block]
    useless: list[Copy]

    def reject(self, block: Block, copy: Copy, *, is_damaged: bool) -> None:
        self.present.discard(block)
        self.damaged.update({block} if is_damaged else ())
        self.useless.append(copy)


@dataclass
class Search:
    """A block size that is not told is learned on the way."""

    trees: tuple[Path, ...]
    block_size: int | None
    ledger: Ledger

    def look(self, records: Iterable[Expected], missing: Path) -> Findings:
        """Count what is there, and write down the files of which something is not."""
        findings = Findings()
        missing.unlink(missing_ok=True)
        with self._examined() as (examine, book):
            expectation.append(missing, self._absent(records, findings, examine))
        findings.trouble = book.trouble
        return findings

    def discard(self, records: Iterable[Expected]) -> None:
        """Remove what is cut or damaged: the client takes it for cached, and does not fetch it again."""
        with self._examined() as (examine, _):
            for sought in self._batches(records):
                blocks = [block for _, blocks in sought for block in blocks]
                for block in blocks:
                    cachefiles.discard_cut(self.trees, block)
                cachefiles.discard(examine(blocks).useless)

    @contextlib.contextmanager
    def _examined(self) -> Iterator[tuple[Callable[[list[Block]], Verdict], Book]]:
        """Have what is needed to examine blocks, in this thread alone."""
        roots = tuple(map(str, self.trees))
        with self.ledger.opened() as book, ThreadPoolExecutor(READERS, "reader") as readers:
            while book.enter():
                pass
            yield lambda blocks: examined(roots, blocks, book, readers), book

    def _batches(self, records: Iterable[Expected]) -> Iterator[Sought]:
        sought: Sought = []
        count = 0
        for record in records:
            blocks = [block for piece in record.pieces or () for block in self._blocks(piece)]
            sought.append((record, blocks))
            count += max(len(blocks), 1)
            if count >= BATCH:
                yield sought
                sought, count = [], 0
        yield sought

    def _absent(
        self, records: Iterable[Expected], findings: Findings, examine: Callable[[list[Block]], Verdict]
    ) -> Iterator[Expected]:
        for sought in self._batches(records):
            everything = [block for _, blocks in sought for block in blocks]
            verdict = examine(everything)
            findings.files += len(sought)
            findings.bytes += sum(piece.length for record, _ in sought for piece in record.pieces or ())
            findings.expected += len(everything)
            findings.present += sum(map(verdict.present.__contains__, everything))
            for record, blocks in sought:
                if record.pieces is None or not verdict.present.issuperset(blocks):
                    findings.lack(record, is_damaged=not verdict.damaged.isdisjoint(blocks))
                    yield record

    def _blocks(self, piece: Slice) -> list[Block]:
        if self.block_size is None and (first := self._first(piece)):
            if first.size == piece.size:
                return [first]
            self.block_size = first.size
        if self.block_size and 0 < piece.size <= self.block_size and piece.length:
            return [Block(piece.id, 0, piece.size)]
        return list(blocks_of(piece, self.block_size or USUAL_BLOCK_SIZE))

    def _first(self, piece: Slice) -> Block | None:
        """Find the first block by the names that it can have: less than all is as large as blocks are."""
        return next((block for block in first_blocks(piece) if cachefiles.is_present(self.trees, block)), None)


def search_of(caches: tuple[Path, ...], ledgers: Path, volume: Identity) -> Search:
    """Look where the volume's blocks are now: directories come with the first of them. No other volume is of use."""
    ledger.forget(ledgers, but=volume.uuid)
    trees = tuple(cachefiles.raw_trees(caches, volume.uuid))
    return Search(trees, volume.block_size, Ledger(ledgers, volume.uuid))


def examined(roots: tuple[str, ...], blocks: list[Block], book: Book, readers: ThreadPoolExecutor) -> Verdict:
    """Look at blocks. What is new is noted, to be read later; what was read once and changed since is read again."""
    found = {block: copies for block in blocks if (copies := cachefiles.copies(roots, block))}
    if not book.is_open:
        return Verdict(set(found), set(), [])
    known = book.known(found)
    verdict = Verdict(set(found), set(), [])
    news = {block: Seen(copies[0].changed) for block, copies in found.items() if block not in known}
    seen = {**known, **news}
    changed = [
        (block, copy) for block, copies in found.items() for copy in copies if copy.changed != seen[block].changed
    ]
    # Of what changed before anybody read it nothing is known: it is fetched anew.
    unknown = {block for block, _ in changed if seen[block].crc is None}
    cachefiles.discard(copy for block, copy in changed if block in unknown)
    verdict.present.difference_update(unknown)
    for block, copy, crc in read([(block, copy) for block, copy in changed if block not in unknown], readers):
        if crc == seen[block].crc:
            news[block] = Seen(copy.changed, crc)
        else:
            verdict.reject(block, copy, is_damaged=crc is not None)
    book.remember({block: new for block, new in news.items() if block not in unknown}, gone=unknown)
    return verdict


def read(unread: list[tuple[Block, Copy]], readers: ThreadPoolExecutor) -> Iterator[tuple[Block, Copy, int | None]]:
    """Read blocks in several threads, in large parts: to hand each over would take longer than to read it."""
    if not unread:
        return
    now = time.time_ns()
    if any(0 <= now - copy.changed < TICK_NS for _, copy in unread):
        time.sleep(TICK_NS / 1e9)
    parts = [unread[start::READERS] for start in range(READERS)]
    for part in readers.map(summed, parts):
        yield from part


def summed(part: list[tuple[Block, Copy]]) -> list[tuple[Block, Copy, int | None]]:
    buffer = memoryview(bytearray(cachefiles.READ_SIZE))
    return [(block, copy, cachefiles.checksum(copy.path, block.size, buffer)) for block, copy in part]
