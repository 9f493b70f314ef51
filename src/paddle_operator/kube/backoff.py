"""How long to wait after failures in a row: longer each time, never the same for two at once."""

import random
from dataclasses import dataclass

LARGEST_EXPONENT = 62


@dataclass(frozen=True)
class Backoff:
    first: float
    longest: float

    def after(self, failures: int) -> float:
        """Give between a half and the whole of the doubled delay, so that those who failed together part."""
        doubled = self.first * 2.0 ** min(max(failures - 1, 0), LARGEST_EXPONENT)
        return min(self.longest, doubled) * random.uniform(0.5, 1.0)  # noqa: S311 spreads load, keeps no secret
