"""What blocks were like when they were first read, on disk: a block never changes, so other bytes are damage."""

import contextlib
import logging
import sqlite3
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddle_operator.engines.juicefs.blocks import Block

log = logging.getLogger(__name__)
VERSION = 1
SUFFIX = ".ledger"
TABLE = """CREATE TABLE IF NOT EXISTS blocks
    (key INTEGER PRIMARY KEY, size INTEGER, changed INTEGER, crc INTEGER, seal INTEGER)"""
# What was seen and is not read yet, many blocks in a row: one for each takes longer, and is made at leisure.
NOTES = "CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, content BLOB, seal INTEGER)"
# The last one first: of a block that was noted twice, the first note is to stay.
NOTE = "SELECT number, content, seal FROM notes ORDER BY number DESC LIMIT 1"
LAST = "SELECT max(key) FROM blocks"
SELECT = "SELECT key, size, changed, crc, seal FROM blocks WHERE key IN (SELECT value FROM json_each(?))"
UNREAD = "SELECT key, size, changed, crc, seal FROM blocks WHERE crc IS NULL AND key > ? ORDER BY key LIMIT ?"
INDEX = "CREATE INDEX IF NOT EXISTS unread ON blocks (key) WHERE crc IS NULL"
FORGET = "DELETE FROM blocks WHERE key <= (SELECT key FROM blocks ORDER BY key DESC LIMIT 1 OFFSET ?)"
# About 40 bytes each; beyond that, what was written to the data set first is forgotten first.
MOST = 20_000_000
# What is stored under an id has at most 1,024 blocks: 64 MiB in parts of 64 KiB.
NUMBERS = 10
LARGEST_KEY = (1 << 63) - 1
ROW = struct.Struct("<QQQq")
WAITING = 5.0
# What is asked is always right, so an error in it is one of the file, and so is text that is none.
BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
UNUSABLE = (OSError, sqlite3.Error, OverflowError, ValueError)


class Seen(msgspec.Struct, frozen=True, gc=False):
    """A block's file as it was seen: the time of its last change, and the checksum of the block's bytes once read."""

    changed: int
    crc: int | None = None


Row = tuple[int, int, int, int | None]
# What a row that is damaged itself says.
NEVER = Seen(-1)


class VersionError(sqlite3.DatabaseError):
    """It was written by another version of this program."""


class Book:
    """A ledger that is open; one that cannot be used knows nothing and says why in `trouble`."""

    def __init__(self, file: Path) -> None:
        self.trouble = ""
        self._file = file
        self._grew = False
        self._connection: sqlite3.Connection | None = None
        try:
            self._open()
        except UNUSABLE as error:
            self._give_up(error)

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def known(self, blocks: Iterable[Block]) -> dict[Block, Seen]:
        """Tell what was entered of blocks; those behind the last one need not be looked for."""
        keys = {key_of(block): block for block in blocks}
        if self._connection is None or not keys:
            return {}
        try:
            (last,) = self._connection.execute(LAST).fetchone()
            if last is None or last < min(keys):
                return {}
            rows = self._connection.execute(SELECT, (str(list(keys)),)).fetchall()
        except UNUSABLE as error:
            self._give_up(error)
            return {}
        return {
            keys[key]: Seen(changed, crc)
            for key, size, changed, crc, seal in rows
            if key in keys and keys[key].size == size and seal == sealed(key, size, changed, crc)
        }

    def unread(self, after: int, most: int) -> dict[int, tuple[Block, Seen]]:
        """Give, by their keys, some of those that were seen and never read, behind a key."""
        if self._connection is None:
            return {}
        try:
            rows = self._connection.execute(UNREAD, (after, most)).fetchall()
        except UNUSABLE as error:
            self._give_up(error)
            return {}
        return {
            key: (block_of(key, size), Seen(changed))
            if seal == sealed(key, size, changed, crc)
            else (block_of(key, 0), NEVER)
            for key, size, changed, crc, seal in rows
        }

    def remember(self, news: Mapping[Block, Seen], gone: Iterable[Block] = ()) -> None:
        """Write down and forget all of it, or nothing; what is not read yet is noted, and known once it is entered."""
        forgotten = [(key_of(block),) for block in gone]
        if self._connection is None or not (news or forgotten):
            return
        rows = [(key_of(block), block.size, seen.changed, seen.crc) for block, seen in news.items()]
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("DELETE FROM blocks WHERE key = ?", forgotten)
                self._put(row for row in rows if row[3] is not None)
                if content := noted(row for row in rows if row[3] is None):
                    self._connection.execute("INSERT INTO notes VALUES (NULL, ?, ?)", (content, zlib.crc32(content)))
        except UNUSABLE as error:
            self._give_up(error)

    def enter(self) -> bool:
        """Enter what was noted together, block by block, and tell whether there was anything."""
        entered = 0
        if self._connection is None:
            return False
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                if note := self._connection.execute(NOTE).fetchone():
                    self._put(rows_of(*note[1:]))
                    entered = self._connection.execute("DELETE FROM notes WHERE number = ?", note[:1]).rowcount
        except UNUSABLE as error:
            self._give_up(error)
            return False
        return entered > 0

    def _put(self, rows: Iterable[Row]) -> None:
        if self._connection is not None:
            entries = ((*row, sealed(*row)) for row in rows)
            self._connection.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?)", entries)
            self._grew = True

    def close(self) -> None:
        if self._connection is None:
            return
        try:
            if self._grew:
                self._connection.execute(FORGET, (MOST,))
            self._connection.close()
        except UNUSABLE as error:
            self._give_up(error)

    def _open(self) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._connection = connected(self._file)
        except UNUSABLE as error:
            if not is_broken(error):
                raise
            log.warning("what is remembered of blocks is thrown away, it cannot be read: error=%s", error)
            remove(self._file)
            self._connection = connected(self._file)

    def _give_up(self, error: Exception) -> None:
        """Go on without: it is known of blocks that they are there, and no more."""
        self.trouble = str(error)
        log.warning("what blocks are like cannot be remembered: error=%s", error)
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        if is_broken(error):
            remove(self._file)


@dataclass(frozen=True)
class Ledger:
    """A file for each volume."""

    directory: Path
    volume: str

    @contextlib.contextmanager
    def opened(self) -> Iterator[Book]:
        """Have it open in one thread."""
        book = Book(self.directory / f"{self.volume}{SUFFIX}")
        try:
            yield book
        finally:
            book.close()


def connected(file: Path) -> sqlite3.Connection:
    with contextlib.ExitStack() as stack:
        connection = sqlite3.connect(file, timeout=WAITING, isolation_level=None)
        stack.callback(connection.close)
        prepare(connection)
        stack.pop_all()
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Have the table. Killed at any moment, it has a batch whole or not at all; a power cut may take the last ones."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in {0, VERSION}:
        raise VersionError(f"its version is {version}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(TABLE)
    connection.execute(INDEX)
    connection.execute(NOTES)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def is_broken(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(error, VersionError | ValueError) or code & 0xFF in BROKEN


def remove(file: Path) -> None:
    for path in (file, *(file.with_name(f"{file.name}-{part}") for part in ("wal", "shm"))):
        with contextlib.suppress(OSError):
            path.unlink()


def directory_in(spool: Path) -> Path:
    return spool / "ledger"


def forget(directory: Path, but: str = "") -> None:
    """Remove what is remembered of all volumes, or of all others: one that was formatted anew is another one."""
    for file in directory.glob(f"*{SUFFIX}"):
        if file.name != f"{but}{SUFFIX}":
            remove(file)


def volumes(directory: Path) -> list[str]:
    """Name the volumes of which something is remembered."""
    return sorted(file.name.removesuffix(SUFFIX) for file in directory.glob(f"*{SUFFIX}"))


def key_of(block: Block) -> int:
    return (block.id << NUMBERS | block.number) & LARGEST_KEY


def block_of(key: int, size: int) -> Block:
    return Block(key >> NUMBERS, key & ((1 << NUMBERS) - 1), size)


def noted(rows: Iterable[Row]) -> bytes:
    content = array("q")
    for row in rows:
        content.extend(row[:3])
    return content.tobytes()


def rows_of(content: object, seal: object) -> Iterator[Row]:
    """Give what was noted; nothing of a note that was damaged itself."""
    if isinstance(content, bytes) and zlib.crc32(content) == seal:
        numbers = array("q", content)
        for key, size, changed in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            yield key, size, changed, None


def sealed(key: int, size: int, changed: int, crc: int | None) -> int | None:
    """Give what shows that a row was not damaged itself; nothing for what is no row."""
    try:
        return zlib.crc32(ROW.pack(key, size, changed, -1 if crc is None else crc))
    except struct.error:
        return None
