"""Measures what a local cluster takes: time to come up and go, and what it uses when nobody does anything."""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from figures import Findings
from localkube import cgroups, clusters, temporary
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress

COMMAND = ".venv/bin/python bench/local_cluster.py"
COLUMNS = ("what", "median", "range", "promised")
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

{{nodes}} nodes; the binaries are there.
"""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often up and down are timed (5)")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes (3)")
    parser.add_argument("--settle", type=float, default=30.0, help="seconds before the idle cluster is measured (30)")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds over which it is measured (60)")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    with temporary.home(Home.from_environment().cache, Progress()) as home:
        figures = measure(home, asked)
    found = Findings(COLUMNS, rows_of(figures), figures)
    found.show()
    if asked.keep:
        found.keep("local_cluster", "What a local cluster takes", PREFACE.format(**vars(asked)))


if __name__ == "__main__":
    main()
