"""One at a time, across processes: a file's lock, which a killed holder lets go of by itself."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, waiting: str, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock and give its descriptor; say that we are waiting when somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _taken(descriptor):
            say(waiting)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Tell whether somebody has the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _taken(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def first_free(paths: Iterator[Path]) -> Iterator[Path | None]:
    """Hold the first of these locks that nobody has, and give its path; None when all are taken."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if _taken(descriptor):
                yield path
                return
        finally:
            os.close(descriptor)
    yield None


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
