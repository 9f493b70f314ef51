"""What JuiceFS shows of a sync on a terminal: how many objects it found so far, and how much of them is done."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from paddle_operator.engines.operations import Progress
from paddle_operator.engines.reports import Data

BAR = re.compile(r"^\[[^\]]*\] +(\d+) +(\d+)%")
# It finds no more than a few thousand ahead of its work: all are found when work goes on, and nothing more is found.
STEADY = 3.0


@dataclass
class Bar:
    """The last one that was shown; a total is one only when nothing more is found."""

    found: int = 0
    percent: int = 0
    clock: Callable[[], float] = time.monotonic
    _since: float = 0.0
    _done_then: int = 0
    _is_all: bool = False

    def read(self, line: str) -> None:
        if seen := BAR.match(line):
            found, self.percent = int(seen[1]), min(int(seen[2]), 100)
            if found != self.found:
                self.found, self._since, self._is_all = found, self.clock(), False
                self._done_then = self._done(0)

    def progress(self, grown: Data) -> Progress:
        """Say how far it is. Percents are coarse, so what the data set has grown by tells more between two of them."""
        if not self.found:
            return Progress(files=grown.files, bytes=grown.bytes)
        done = self._done(grown.files)
        self._is_all |= done > self._done_then and self.clock() - self._since >= STEADY
        return Progress(done, self.found if self._is_all else 0, grown.bytes)

    def _done(self, grown: int) -> int:
        """Give how many are done, skipped ones included; directories are counted in growth."""
        least, most = (self.found * percent // 100 for percent in (self.percent, min(self.percent + 1, 100)))
        return min(max(grown, least), most)
