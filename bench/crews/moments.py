"""When each of many things happened first, and waiting for the last of them."""

import asyncio
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)


class Moments(Generic[Name]):
    def __init__(self) -> None:
        self._at: dict[Name, float] = {}
        self._happened = asyncio.Event()

    def mark(self, name: Name) -> None:
        self._at.setdefault(name, time.monotonic())
        self._happened.set()

    async def last_of(self, names: set[Name]) -> float:
        """Wait until each of them has happened, and give when the last one did."""
        while not names <= self._at.keys():
            self._happened.clear()
            await self._happened.wait()
        return max(self._at[name] for name in names)
