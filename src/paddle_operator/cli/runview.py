"""What one sees of a run: a table that lives in a terminal, lines where there is none, and tables at its end."""

import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.embedded.apiserver import tables
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.embedded.follow import Look

LONGEST_LINE = 100
STYLES = {True: "green", False: "red", None: "yellow"}


class Lines:
    """One line for each change."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._told: dict[str, str] = {}

    def show(self, look: Look) -> None:
        for one, found in look.standings.items():
            words = f"{found.phase}{f': {found.words}' if found.words else ''}"
            if self._told.get(str(one)) != words:
                self._told[str(one)] = words
                self.say(f"{one} {words}")
        for worker in look.workers:
            if worker.is_stuck and self._told.get(worker.name) != worker.line:
                self._told[worker.name] = worker.line
                self.say(f"pod/{worker.name} {worker.line}")

    def say(self, words: str) -> None:
        if not self._quiet:
            click.echo(f"{datetime.now(UTC):%H:%M:%S} {words}", err=True)


class Screen:
    """A table that is drawn anew as things change; what came to its end before stays in it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._last = Look({}, ())

    def show(self, look: Look) -> None:
        self._last = look = Look({**self._last.standings, **look.standings}, look.workers)
        table = Table(box=None, padding=(0, 2, 0, 0))
        for title in ("OBJECT", "PHASE", ""):
            table.add_column(title, no_wrap=True)
        for one, found in look.standings.items():
            table.add_row(Text(str(one)), Text(found.phase, STYLES[found.good]), Text(found.words[:LONGEST_LINE]))
        for worker in look.workers:
            table.add_row(Text(f"  {worker.name}"), Text(worker.phase), Text(worker.line[:LONGEST_LINE], "dim"))
        self._live.update(table)

    def say(self, words: str) -> None:
        self._live.console.print(Text(words))


@contextlib.contextmanager
def view(*, quiet: bool) -> Iterator[Lines | Screen]:
    if quiet or not sys.stderr.isatty():
        yield Lines(quiet=quiet)
        return
    with Live(console=Console(stderr=True), refresh_per_second=8, transient=True) as live:
        yield Screen(live)


def listed(resource: Resource, items: list[Manifest], *, namespaces: bool = False) -> str:
    """Give objects as `kubectl get` prints them."""
    made = tables.table(resource, items, {}, datetime.now(UTC))
    columns = made["columnDefinitions"]
    shown = [number for number, column in enumerate(columns) if not column["priority"]]
    rows = [[str(columns[number]["name"]).upper() for number in shown]]
    rows += [[_cell(row["cells"][number]) for number in shown] for row in made["rows"]]
    if namespaces:
        names = ["NAMESPACE", *(key_of(item).namespace for item in items)]
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in padded)


def _cell(value: object) -> str:
    return "<none>" if value is None else str(value)
