"""What a measurement has found: shown as a table, and kept for people and for programs."""

import datetime as dt
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
STOLEN, ALL = 7, slice(0, 8)
MEASURED = (
    "Measured on {date} at commit `{commit}`: {cores} cores, load {load} before, {stolen} % of their time taken by"
    " other machines, Python {python}."
)
Facts = dict[str, str]


def processor_times() -> list[int]:
    """Give the columns of /proc/stat: what the processors did since the machine began, in ticks."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]


LOAD_BEFORE, TIMES_BEFORE = os.getloadavg()[0], processor_times()


@dataclass(frozen=True)
class Findings:
    """A table, and for programs the figures that it was made of."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    figures: object

    @classmethod
    def of(cls, facts: Facts) -> "Findings":
        return cls(("what", "figure"), list(facts.items()), facts)

    def show(self) -> None:
        table = Table(*(column.upper() for column in self.columns), box=None, pad_edge=False)
        for row in self.rows:
            table.add_row(*row)
        Console(highlight=False).print(table)

    def keep(self, name: str, title: str, preface: str) -> None:
        facts = machine()
        lines = [
            f"# {title}",
            "",
            MEASURED.format(**facts),
            *preface.splitlines(),
            "",
            f"| {' | '.join(self.columns)} |",
            f"|{'---|' * len(self.columns)}",
            *(f"| {' | '.join(row)} |" for row in self.rows),
            "",
        ]
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text("\n".join(lines))
        (RESULTS / f"{name}.json").write_text(json.dumps({**facts, "figures": self.figures}, indent=2) + "\n")


def machine() -> dict[str, object]:
    """Tell where, when and how undisturbed this was measured, from the start of this process."""
    times = [now - before for now, before in zip(processor_times(), TIMES_BEFORE, strict=True)]
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "cores": os.cpu_count(),
        "load": round(LOAD_BEFORE, 1),
        "stolen": round(100 * times[STOLEN] / max(sum(times[ALL]), 1)),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """Name the commit, and say so if something differs from it; results that were just measured do not matter."""
    name = git("rev-parse", "--short=10", "HEAD")
    return f"{name}-dirty" if git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!.") else name


def git(*words: str) -> str:
    argv = ["git", "-C", str(RESULTS), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
