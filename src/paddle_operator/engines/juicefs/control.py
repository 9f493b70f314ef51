"""Asks the JuiceFS client behind a mount what only it knows, by the file through which its own commands ask."""

import contextlib
import errno
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CONTROL = ".control"
REMOVE, INFO = 1002, 1003
# In 1.x, counts come between the question and the answer.
PROGRESS, PROGRESS_SIZE = 0xFE, 17
LARGEST = 1 << 16
QUICKEST, SLOWEST = 0.0005, 0.1


class ControlError(OSError):
    """The client refuses, or cannot be asked."""


class Control:
    """One conversation with a client: one question at a time."""

    def __init__(self, descriptor: int, is_cancelled: Callable[[], bool]) -> None:
        self._descriptor = descriptor
        self._is_cancelled = is_cancelled

    def greet(self) -> None:
        """Be answered, and take nothing away: a client does so at once, whatever else it is at."""
        os.pread(self._descriptor, 1, 0)

    def info(self, inode: int, *, is_deep: bool = False) -> str:
        """Tell of a file what `juicefs info` tells, with its pieces; of a directory, if asked, what is below it."""
        os.write(self._descriptor, struct.pack(">IIQBB", INFO, 10, inode, is_deep, 1))
        answer = self._read(4)
        (length,) = struct.unpack(">I", answer[:4])
        while len(answer) < 4 + length:
            answer += self._read(1)
        return answer[4 : 4 + length].decode(errors="replace")

    def remove(self, parent: int, name: bytes) -> None:
        """Remove what has this name in that directory, with all below it; it may have gone since it was seen there."""
        os.write(self._descriptor, struct.pack(">IIQB", REMOVE, 9 + len(name), parent, len(name)) + name)
        answer = b""
        while True:
            answer += self._read(1)
            while len(answer) >= PROGRESS_SIZE and answer[0] == PROGRESS:
                answer = answer[PROGRESS_SIZE:]
            if len(answer) == 1:
                break
        if answer[0] == errno.ENOENT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if answer[0]:
            raise ControlError(answer[0], os.strerror(answer[0]))

    def _read(self, least: int) -> bytes:
        """Read what there is; nothing means: not yet."""
        got, pause = b"", QUICKEST
        while len(got) < least:
            if chunk := os.read(self._descriptor, LARGEST):
                got += chunk
                continue
            if self._is_cancelled():
                raise ControlError(errno.ECANCELED, "it was cancelled")
            time.sleep(pause)
            pause = min(pause * 2, SLOWEST)
        return got


@contextlib.contextmanager
def opened(mount: Path, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Control]:
    """Begin a conversation with the client of a mount. The file is there even where the root does not list it."""
    try:
        descriptor = os.open(mount / CONTROL, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise ControlError(error.errno, f"the JuiceFS client of the mount cannot be asked: {error.strerror}") from error
    try:
        yield Control(descriptor, is_cancelled)
    finally:
        os.close(descriptor)
