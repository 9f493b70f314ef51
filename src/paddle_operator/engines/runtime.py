"""What an engine does in a runtime server: carry out orders, and tell how the partition stands."""

from collections.abc import Callable
from typing import Protocol

from paddle_operator.engines.operations import Order, Progress, Result
from paddle_operator.engines.reports import Report

Told = Callable[[Progress], None]


class OrderError(ValueError):
    """An order that cannot be carried out as it is, and why, in a sentence."""


class OperationError(Exception):
    """An operation that failed, why, in a sentence, and what it did all the same."""

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


class Runtime(Protocol):
    """An engine, next to the data."""

    def check(self, order: Order) -> None:
        """Raise OrderError for what cannot work, before anything is done."""

    async def run(self, order: Order, told: Told) -> tuple[Result, str]:
        """Carry it out, from wherever an earlier run was killed, and give what was done, in numbers and in words.

        When this is cancelled, all that it started is ended before it returns.
        """

    async def tend(self) -> None:
        """Do what is of use and nobody waits for; it is cancelled when something is ordered."""

    def observe(self) -> Report:
        """Tell how the partition stands; it may take long when the mount does not answer."""
