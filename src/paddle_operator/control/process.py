"""What every program of ours that goes on does: stops when it is told to, and seldom looks for garbage."""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Iterator

# Objects between two looks at the young, looks between two at the older; Python's own 700 are for small programs.
COLLECTION = (20_000, 20, 20)


def collect_rarely() -> None:
    """Let the process look for cycles less often: what it holds stays, and nearly all the rest goes by itself."""
    gc.freeze()
    gc.set_threshold(*COLLECTION)


@contextlib.contextmanager
def signals(stop: asyncio.Event) -> Iterator[None]:
    """Stop in order at the first signal, at once at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def asked() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    caught = (signal.SIGTERM, signal.SIGINT)
    for number in caught:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
