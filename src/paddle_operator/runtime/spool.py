"""Orders and what became of them, on disk: each change is there whole or not at all, whenever we are killed."""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paddle_operator.engines.operations import Operation, Order, is_id

SUFFIX = ".json"
log = logging.getLogger(__name__)


class SpoolError(Exception):
    """The spool cannot be used, and why."""


class Entry(msgspec.Struct, frozen=True):
    """An order without its keys, and all that must outlive the process. `pod`: the uid of the server's pod."""

    number: int
    order: Order
    operation: Operation
    has_keys: bool = False
    is_cancelled: bool = False
    starts: int = 0
    pod: str = ""


class Spool:
    """A directory with a file for each operation; one server at a time may have it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep others away from it."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise SpoolError(f"the spool {self._directory} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise SpoolError(f"another runtime server uses the spool {self._directory}") from None
        finally:
            os.close(lock)

    def save(self, entry: Entry) -> None:
        path = self._path(entry.operation.id)
        draft = path.with_suffix(".draft")
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(entry))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        self._settle()

    def remove(self, operation: str) -> None:
        self._path(operation).unlink(missing_ok=True)

    def empty(self) -> None:
        for path in self._directory.glob(f"*{SUFFIX}"):
            path.unlink(missing_ok=True)

    def load(self) -> list[Entry]:
        """Read everything, in the order in which it was ordered."""
        found = [self._read(path) for path in self._directory.glob(f"*{SUFFIX}")]
        return sorted((entry for entry in found if entry), key=lambda entry: entry.number)

    def _read(self, path: Path) -> Entry | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Entry)
        except (OSError, msgspec.DecodeError) as error:
            log.error("spooled operation cannot be read file=%s error=%s", path.name, error)  # noqa: TRY400 no defect of ours
            return None

    def _path(self, operation: str) -> Path:
        if not is_id(operation):
            raise SpoolError("an operation's id is no file name")
        return self._directory / f"{operation}{SUFFIX}"

    def _settle(self) -> None:
        """Have the new name on disk, too."""
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
