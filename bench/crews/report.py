"""What was found: a table for people, on the terminal and in a file, and the figures for programs."""

import datetime as dt
import json
import os
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

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
class Findings:
    """The figures of each manager, by what was measured; what was given up; how busy the machine was before."""

    figures: dict[str, dict[str, list[float]]] = field(default_factory=lambda: {name: {} for name in MANAGERS})
    given_up: list[tuple[str, str]] = field(default_factory=list)
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))

    def note(self, manager: str, what: str, value: float) -> None:
        self.figures[manager].setdefault(what, []).append(value)

    def give_up(self, manager: str, part: str) -> None:
        """Say of all that a part would have measured, and has not, that it took too long."""
        missing = [what for what in MEASURED if what.startswith(part) and what not in self.figures[manager]]
        self.given_up += [(manager, what) for what in missing]

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

    def table(self) -> Table:
        table = Table(*(column.upper() for column in COLUMNS), box=None, pad_edge=False)
        for row in self.rows():
            table.add_row(*row)
        return table

    def keep(self, results: Path, commit: str, preface: str) -> None:
        facts = {
            "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
            "commit": commit,
            "cores": os.cpu_count(),
            "load": self.load,
            "kernel": platform.release(),
            "python": platform.python_version(),
        }
        lines = [
            "# What the loop takes, beside kopf",
            "",
            "Measured on {date} at commit `{commit}`: {cores} cores, load {load} before, Python {python}.".format(
                **facts
            ),
            *preface.splitlines(),
            "",
            f"| {' | '.join(COLUMNS)} |",
            f"|{'---|' * len(COLUMNS)}",
            *(f"| {' | '.join(row)} |" for row in self.rows()),
            "",
        ]
        results.mkdir(exist_ok=True)
        (results / "loop.md").write_text("\n".join(lines))
        found = {**facts, "figures": self.figures, "given_up": self.given_up}
        (results / "loop.json").write_text(json.dumps(found, indent=2) + "\n")
