"""Measures what a local cluster takes: time to come up and go, and what it uses when nobody does anything."""

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from localkube import cgroups, clusters
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress

RESULTS = Path(__file__).parent / "results"
MIB = 1 << 20
Figures = dict[str, list[float]]

# What is measured, its unit, and the most that was promised.
MEASURED = {
    "up, nothing there": ("s", 30.0),
    "up again, all running": ("s", None),
    "down": ("s", 10.0),
    "idle CPU": ("% of a core", 10.0),
    "idle memory (PSS of all processes)": ("MiB", 1536.0),
    "idle memory (anonymous and shared)": ("MiB", 1536.0),
}


def timed(action: Callable[[], object]) -> float:
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


def proportional_memory(ident: str) -> float:
    """Add up every process's share of its pages in MiB: program text that several share is counted once."""
    total = 0
    for pid in cgroups.processes(ident):
        try:
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # ended meanwhile
        total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total / 1024


def measure_idle(cluster: Cluster, settle: float, seconds: float) -> dict[str, float]:
    time.sleep(settle)
    cpu, _ = cgroups.usage(cluster.spec.ident)
    time.sleep(seconds)
    later, memory = cgroups.usage(cluster.spec.ident)
    return {
        "idle CPU": (later - cpu) / seconds * 100,
        "idle memory (PSS of all processes)": proportional_memory(cluster.spec.ident),
        "idle memory (anonymous and shared)": memory / MIB,
    }


def measure(home: Home, asked: argparse.Namespace) -> Figures:
    figures: Figures = {name: [] for name in MEASURED}
    progress = Progress()
    request = clusters.Request("bench", nodes=asked.nodes)
    clusters.prepare(home, progress)
    for number in range(asked.rounds):
        figures["up, nothing there"].append(timed(lambda: clusters.up(home, request, progress)))
        figures["up again, all running"].append(timed(lambda: clusters.up(home, request, progress)))
        if number == 0:
            idle = measure_idle(clusters.find(home, "bench"), asked.settle, asked.idle)
            for name, value in idle.items():
                figures[name].append(value)
        figures["down"].append(timed(lambda: clusters.down(home, "bench", progress)))
    return figures


def commit() -> str:
    argv = ["git", "-C", str(RESULTS), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def rows_of(figures: Figures) -> list[tuple[str, str, str, str]]:
    return [
        (
            name,
            f"{statistics.median(figures[name]):.1f} {unit}",
            f"{min(figures[name]):.1f} to {max(figures[name]):.1f} (n={len(figures[name])})",
            f"{most:.0f} {unit}" if most else "",
        )
        for name, (unit, most) in MEASURED.items()
    ]


def keep(figures: Figures, asked: argparse.Namespace) -> None:
    """Write the figures for people and for programs."""
    when = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d")
    measured_at = commit()
    facts = {
        "date": when,
        "commit": measured_at,
        "nodes": asked.nodes,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "local_cluster.json").write_text(json.dumps({**facts, "figures": figures}, indent=2) + "\n")
    lines = [
        "# What a local cluster takes",
        "",
        f"Measured on {when} at commit `{measured_at}`: {asked.nodes} nodes, {facts['cores']} cores, binaries there.",
        "`.venv/bin/python bench/local_cluster.py --keep` writes this file.",
        "",
        "| what | median | range | promised |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows_of(figures)),
        "",
    ]
    (RESULTS / "local_cluster.md").write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often up and down are timed (5)")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes (3)")
    parser.add_argument("--settle", type=float, default=30.0, help="seconds before the idle cluster is measured (30)")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds over which it is measured (60)")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    state = Path(tempfile.mkdtemp(prefix="lk-", dir="/var/tmp"))
    home = Home(state, Home.from_environment().cache)
    try:
        figures = measure(home, asked)
    finally:
        clusters.down(home, "bench", Progress())
        shutil.rmtree(state)
    table = Table("WHAT", "MEDIAN", "RANGE", "PROMISED", box=None, pad_edge=False)
    for row in rows_of(figures):
        table.add_row(*row)
    Console(highlight=False).print(table)
    if asked.keep:
        keep(figures, asked)


if __name__ == "__main__":
    main()
