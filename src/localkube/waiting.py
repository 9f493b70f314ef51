"""Waiting for something to become true: with an end, and words for when it does not."""

import time
from collections.abc import Callable

from localkube import errors

PAUSE = 0.1


def wait_until(condition: Callable[[], bool], timeout: float, otherwise: str, pause: float = PAUSE) -> None:
    """Ask again and again; a question that cannot be answered yet counts as no."""
    deadline = time.monotonic() + timeout
    while not _holds(condition):
        if time.monotonic() > deadline:
            raise errors.LocalkubeError(f"{otherwise} ({timeout:.0f} s passed)")
        time.sleep(pause)


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except errors.LocalkubeError:
        return False
