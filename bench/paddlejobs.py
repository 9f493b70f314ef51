"""Measures the manager with many PaddleJobs of one ps and two workers: submitted at once, and at rest."""

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
from pathlib import Path

from crews.process import Program, Running, running
from figures import Findings
from jobstage import CONNECTIONS, READS, WRITES, Stage, serve_kinds, staged
from localkube import clusters
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress
from paddle_operator.kube import config
from paddle_operator.kube.client import Client

CLUSTER = "bench-jobs"
COMMAND = ".venv/bin/python bench/paddlejobs.py"
TAIL = 3.0
Figures = dict[str, list[float]]

# What is measured, its unit, what the original operator took, and what was promised of ours.
MEASURED: dict[str, tuple[str, float | None, str]] = {
    "at once: to the last pod": ("s", 59.0, "12 times faster"),
    "at once: to the last complete status": ("s", 74.0, "12 times faster"),
    "at once: CPU": ("s", 6.2, ""),
    "at once: peak memory": ("MB", 58.0, ""),
    "at once: writes per job": ("", None, ""),
    "at once: reads per job": ("", None, ""),
    "at rest: writes": ("", None, "0"),
    "at rest: CPU": ("% of a core", None, "below 1"),
}
COLUMNS = ("what", "ours", "the original", "promised")
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

{{jobs}} PaddleJobs of one parameter server and two workers are submitted together over {CONNECTIONS} connections, to a
manager that has seen one before; {{rounds}} rounds, each in a new namespace. Medians; in brackets, how far the rounds
are apart. Nobody schedules the pods. A status is complete when it names all three pods. Writes and reads are what the
API server counts for the jobs, their pods, services, config maps and events, without those that submit the jobs. CPU is
the manager's own, in the kernel too, until {TAIL:.0f} s after the last status. At rest: {{seconds:.0f}} s in which
nobody changes anything, after the last round. The original operator, in Go, was measured once on a machine like this.
"""


def manager(kubeconfig: Path) -> Program:
    """Start it as users do; the namespace comes last."""
    argv = (
        str(Path(sys.executable).with_name("paddle-operator")), "manager", "--controllers=paddlejob",
        f"--kubeconfig={kubeconfig}", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--namespace",
    )  # fmt: skip
    paths = os.pathsep.join(path for path in sys.path if path)
    return Program("manager", argv, {**os.environ, "PYTHONPATH": paths})


class Bench:
    def __init__(self, cluster: Cluster, progress: Progress) -> None:
        self.figures: Figures = {what: [] for what in MEASURED}
        self._cluster = cluster
        self._progress = progress

    async def run(self, asked: argparse.Namespace, log: Path) -> None:
        kubeconfig = self._cluster.paths.kubeconfig
        async with Client(config.load(str(kubeconfig)), "bench") as client:
            await serve_kinds(client)
            for number in range(1, asked.rounds + 1):
                namespace = f"round-{number}"
                async with (
                    staged(client, self._cluster.api, namespace) as stage,
                    running(manager(kubeconfig), namespace, log) as process,
                ):
                    with self._progress.step(f"{asked.jobs} jobs at once, round {number}"):
                        await self._burst(stage, process, asked.jobs)
                    if number == asked.rounds:
                        with self._progress.step("at rest"):
                            await self._rest(stage, process, asked.seconds)

    async def _burst(self, stage: Stage, process: Running, count: int) -> None:
        await stage.fill(["warm-up"])  # only then is it known to be ready
        await asyncio.sleep(TAIL)
        cpu, writes, reads = process.cpu, stage.asked(WRITES), stage.asked(READS)
        pods, statuses = await stage.fill([f"job-{number:04}" for number in range(count)])
        await asyncio.sleep(TAIL)
        self._note("at once: to the last pod", pods)
        self._note("at once: to the last complete status", statuses)
        self._note("at once: CPU", process.cpu - cpu)
        self._note("at once: peak memory", process.peak)
        self._note("at once: writes per job", (stage.asked(WRITES) - writes) / count - 1)
        self._note("at once: reads per job", (stage.asked(READS) - reads) / count)

    async def _rest(self, stage: Stage, process: Running, seconds: float) -> None:
        cpu, writes = process.cpu, stage.asked(WRITES)
        await asyncio.sleep(seconds)
        self._note("at rest: writes", stage.asked(WRITES) - writes)
        self._note("at rest: CPU", (process.cpu - cpu) / seconds * 100)

    def _note(self, what: str, value: float) -> None:
        self.figures[what].append(value)
        self._progress.say(f"  {what} {value:.1f} {MEASURED[what][0]}")


def measure(asked: argparse.Namespace, progress: Progress) -> Figures:
    home = Home.from_environment()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        try:
            bench = Bench(clusters.up(home, clusters.Request(CLUSTER, nodes=1), progress, replace_other=True), progress)
            asyncio.run(bench.run(asked, asked.log or Path(scratch) / "manager.log"))
        finally:
            clusters.down(home, CLUSTER, progress)
    return bench.figures


def rows_of(figures: Figures) -> list[tuple[str, ...]]:
    return [(what, cell(what, figures[what]), original(what, figures[what]), MEASURED[what][2]) for what in MEASURED]


def cell(what: str, values: list[float]) -> str:
    unit = MEASURED[what][0]
    apart = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.1f} {unit}".strip() + apart


def original(what: str, values: list[float]) -> str:
    unit, taken, _ = MEASURED[what]
    return "" if taken is None else f"{taken:g} {unit}, {taken / statistics.median(values):.1f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 3 minutes.")
    parser.add_argument("--rounds", type=int, default=3, help="how often the burst is measured (3)")
    parser.add_argument("--jobs", type=int, default=300, help="how many jobs are submitted at once (300)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds over which the rest is measured (60)")
    parser.add_argument("--log", type=Path, default=None, help="where the manager's log is kept")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    # Ended from outside, it still takes its cluster and its manager with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    figures = measure(asked, Progress())
    found = Findings(COLUMNS, rows_of(figures), figures)
    found.show()
    if asked.keep:
        found.keep("paddlejobs", "What many PaddleJobs take", PREFACE.format(**vars(asked)))


if __name__ == "__main__":
    main()
