"""An engine that does what it is told to, for tests of the runtime server itself."""

import asyncio
from dataclasses import dataclass, field

from paddle_operator.engines.operations import Order, Progress, Result
from paddle_operator.engines.reports import Report
from paddle_operator.engines.runtime import OrderError, Told


@dataclass
class Pretender:
    """Begins orders when it gets them, and ends them when the test says how."""

    begun: list[Order] = field(default_factory=list)
    refuses: str = ""
    report: Report = field(default_factory=lambda: Report(engine="pretended", mounted=True))
    tending: int = 0
    is_clumsy: bool = False
    _end: asyncio.Future[Result] | None = None

    def check(self, order: Order) -> None:
        del order
        if self.refuses:
            raise OrderError(self.refuses)

    async def run(self, order: Order, told: Told) -> tuple[Result, str]:
        self.begun.append(order)
        self._end = asyncio.get_running_loop().create_future()
        told(Progress(files=len(self.begun)))
        return await self._end, "as told"

    async def tend(self) -> None:
        """Have something to do without end, that can be broken off."""
        self.tending += 1
        if self.is_clumsy:
            raise RuntimeError("clumsy")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.tending -= 1

    def observe(self) -> Report:
        return self.report

    def succeed(self) -> None:
        assert self._end
        self._end.set_result(Result(files=1))

    def fail(self, error: Exception) -> None:
        assert self._end
        self._end.set_exception(error)
