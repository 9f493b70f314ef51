"""What was found of each manager, beside each other."""

import itertools
import statistics
from dataclasses import dataclass, field

from crews.trial import PATIENCE

# The managers, as their columns are headed.
MANAGERS = {
    "ours": "ours",
    "tutorial": "kopf, as in its tutorial",
    "typed": "kopf, kubernetes_asyncio",
    "plain": "kopf, plain requests",
}
COLUMNS = ("what", *MANAGERS.values(), "promised of ours")
# The manager on kopf that the promises are about.
YARDSTICK = "tutorial"


@dataclass(frozen=True)
class Times:
    """Ours takes so many times less than another."""

    factor: float
    word: str

    def __str__(self) -> str:
        return f"{self.factor:.0f} times {self.word} than {MANAGERS[YARDSTICK]}"


@dataclass(frozen=True)
class Below:
    """Ours takes less than this."""

    limit: float
    words: str

    def __str__(self) -> str:
        return self.words


# What is measured, its unit, and what was promised of ours.
MEASURED: dict[str, tuple[str, Times | Below | None]] = {
    "at once: to the last status": ("s", Times(2, "faster")),
    "at once: CPU": ("s", Times(5, "less")),
    "at once: peak memory": ("MB", None),
    "at once: writes": ("", None),
    "at rest: writes": ("", Below(1, "0")),
    "at rest: CPU": ("% of a core", Below(1, "below 1")),
    "at rest: resident memory": ("MB", Below(140, "below 140")),
    "restart: until each was looked at": ("s", Below(3, "below 3")),
    "restart: writes": ("", Below(1, "0")),
    "restart: resident memory": ("MB", Below(140, "below 140")),
}


@dataclass
class Comparison:
    """The figures of each manager, by what was measured, and what was given up."""

    figures: dict[str, dict[str, list[float]]] = field(default_factory=lambda: {name: {} for name in MANAGERS})
    given_up: list[tuple[str, str]] = field(default_factory=list)

    def note(self, manager: str, what: str, value: float) -> None:
        self.figures[manager].setdefault(what, []).append(value)

    def give_up(self, manager: str, part: str) -> None:
        """Say of the first thing that a part would have measured, and has not, that it took too long."""
        missing = (what for what in MEASURED if what.startswith(part) and what not in self.figures[manager])
        self.given_up += [(manager, what) for what in itertools.islice(missing, 1)]

    def rows(self) -> list[tuple[str, ...]]:
        return [
            (what, *(self._cell(manager, what) for manager in MANAGERS), str(promised or ""))
            for what, (_, promised) in MEASURED.items()
        ]

    def _cell(self, manager: str, what: str) -> str:
        """Give the median, how far the rounds were apart, how many times ours it is, and if that is as promised."""
        if (manager, what) in self.given_up:
            return f"not within {PATIENCE:.0f} s"
        values, ours = (self.figures[name].get(what) for name in (manager, "ours"))
        if not values:
            return ""
        unit, promised = MEASURED[what]
        digits = 1 if unit else 0
        median = statistics.median(values)
        text = f"{median:,.{digits}f} {unit}".strip()
        if len(values) > 1 and unit:
            text += f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
        if manager == "ours":
            return text + (verdict(median < promised.limit) if isinstance(promised, Below) else "")
        if not ours or not statistics.median(ours):
            return text
        times = median / statistics.median(ours)
        return f"{text}, {times:.1f}x" + (verdict(times >= promised.factor) if isinstance(promised, Times) else "")


def verdict(met: bool) -> str:  # noqa: FBT001 there is nothing else to say
    return ": met" if met else ": not met"
