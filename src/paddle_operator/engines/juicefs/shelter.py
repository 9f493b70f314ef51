"""A way into a directory on which no symbolic link is followed, whoever planted it, and whatever program takes it."""

import contextlib
import ctypes
import logging
import os
import struct
from collections.abc import Iterator
from pathlib import Path

# The numbers are the same on all machines.
OPEN_TREE, MOUNT_SETATTR = 428, 442
OPEN_TREE_CLONE, AT_EMPTY_PATH, AT_CURRENT = 1, 0x1000, -100
NO_SYMBOLIC_LINKS = 0x200000
log = logging.getLogger(__name__)


@contextlib.contextmanager
def sheltered(directory: Path) -> Iterator[int | None]:
    """Give a descriptor of a mount of our own that nobody else sees and that goes when it is closed.

    A child that inherits it finds the directory at /proc/self/fd/NUMBER. None where we may not mount, or where the
    kernel is older than 5.14: then links that others plant are followed.
    """
    try:
        descriptor = cloned(directory)
    except OSError as error:
        log.warning("symbolic links in the data set may be followed reason=%s", error.strerror)
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def cloned(directory: Path) -> int:
    descriptor = system_call(OPEN_TREE, AT_CURRENT, os.fsencode(directory), OPEN_TREE_CLONE | os.O_CLOEXEC)
    # What to set, what to clear, and two things to leave as they are.
    attributes = struct.pack("QQQQ", NO_SYMBOLIC_LINKS, 0, 0, 0)
    try:
        system_call(MOUNT_SETATTR, descriptor, b"", AT_EMPTY_PATH, attributes, len(attributes))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def system_call(number: int, *arguments: int | bytes) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    widened = [ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word) for word in arguments]
    result = int(library.syscall(ctypes.c_long(number), *widened))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
