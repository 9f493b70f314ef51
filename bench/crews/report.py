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
COLUMNS = ("what", *MANAGERS.values(), "promised")
# What is measured, its unit, and what was promised of ours.
MEASURED = {
    "at once: to the last status": ("s", "2 times faster than kopf"),
    "at once: CPU": ("s", "5 times less than kopf"),
    "at once: peak memory": ("MB", ""),
    "at once: writes": ("", ""),
    "at rest: writes": ("", "0"),
    "at rest: CPU": ("% of a core", "below 1"),
    "at rest: resident memory": ("MB", "below 140"),
    "restart: until each was looked at": ("s", "below 3"),
    "restart: writes": ("", "0"),
    "restart: resident memory": ("MB", "below 140"),
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
            (what, *(self._cell(manager, what) for manager in MANAGERS), promised)
            for what, (_, promised) in MEASURED.items()
        ]

    def _cell(self, manager: str, what: str) -> str:
        """Give the median, how far the rounds were apart, and how many times ours it is."""
        if (manager, what) in self.given_up:
            return f"not within {PATIENCE:.0f} s"
        values, ours = (self.figures[name].get(what) for name in (manager, "ours"))
        if not values:
            return ""
        unit = MEASURED[what][0]
        digits = 1 if unit else 0
        median = statistics.median(values)
        text = f"{median:,.{digits}f} {unit}".strip()
        if len(values) > 1 and unit:
            text += f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
        if manager != "ours" and ours and statistics.median(ours):
            text += f", {median / statistics.median(ours):.1f}x"
        return text
