"""Figures of a measurement, by what they are: shown, and kept for people and for programs."""

import datetime as dt
import json
import os
import platform

from rich.console import Console
from rich.table import Table

from local_cluster import RESULTS, commit

Figures = dict[str, str]


def show(found: Figures) -> None:
    table = Table("WHAT", "FIGURE", box=None, pad_edge=False)
    for row in found.items():
        table.add_row(*row)
    Console(highlight=False).print(table)


def keep(name: str, found: Figures, title: str, preface: str) -> None:
    facts = {"date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"), "commit": commit(), "cores": os.cpu_count()}
    facts["python"] = platform.python_version()
    measured = "Measured on {date} at commit `{commit}`: {cores} cores, Python {python}.".format(**facts)
    lines = [f"# {title}", "", measured, *preface.splitlines(), ""]
    lines += ["| what | figure |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in found.items()), ""]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text("\n".join(lines))
    (RESULTS / f"{name}.json").write_text(json.dumps({**facts, "figures": found}, indent=2) + "\n")
