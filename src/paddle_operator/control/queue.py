"""The keys to look at: each at most once in the queue and once in work, now or at a time to come."""

import asyncio

from paddle_operator.api.manifest import Key
from paddle_operator.kube.backoff import Backoff

BACKOFF = Backoff(first=0.2, longest=300.0)


class Queue:
    def __init__(self, backoff: Backoff = BACKOFF) -> None:
        self._backoff = backoff
        self._ready: asyncio.Queue[Key | None] = asyncio.Queue()
        self._closed = False
        self._waiting: set[Key] = set()
        self._again: set[Key] = set()
        self._in_work: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}

    @property
    def depth(self) -> int:
        """Count the keys that are due and that nobody works on."""
        return len(self._waiting) + len(self._again)

    def add(self, key: Key, after: float = 0.0) -> None:
        """Ask for the key to be looked at; the earliest time anybody asked for counts."""
        if key in self._waiting or key in self._again:
            return
        if after > 0:
            self._add_later(key, after)
            return
        if timer := self._timers.pop(key, None):
            timer.cancel()
        if key in self._in_work:
            self._again.add(key)
        else:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def _add_later(self, key: Key, after: float) -> None:
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + after:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(after, self.add, key)

    def settle(self, key: Key, after: float) -> None:
        """Ask for the key to be looked at then, and what was asked for while it was in work to wait until then."""
        self._again.discard(key)
        self.add(key, after)

    def due_in(self, key: Key) -> float | None:
        """Give the seconds until the key is due; 0 if it is, nothing if nobody asked."""
        if key in self._waiting or key in self._again:
            return 0.0
        timer = self._timers.get(key)
        return None if timer is None else max(0.0, timer.when() - asyncio.get_running_loop().time())

    async def get(self) -> Key | None:
        """Wait for a key, and take it into work: nobody else gets it until `done`. Nothing: the queue is closed."""
        key = await self._ready.get()
        if self._closed or key is None:
            self._ready.put_nowait(None)  # for the next one who waits
            return None
        self._waiting.discard(key)
        self._in_work.add(key)
        return key

    def done(self, key: Key) -> None:
        self._in_work.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def retry(self, key: Key) -> float:
        """Ask for the key later, the more often it failed the later; give the delay."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.after(self._failures[key])
        self.add(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """Let the next failure be the first."""
        self._failures.pop(key, None)

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True
        self._ready.put_nowait(None)
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
