"""Measures our loop beside the same controller on kopf: many objects at once, at rest, and after a restart."""

import argparse
import asyncio
import functools
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path

from crews import process, trial
from crews.process import Program
from crews.report import COLUMNS, MEASURED, Comparison
from crews.stage import connected, serve_crews, stage
from crews.trial import PATIENCE, TAIL, Trial
from figures import Findings
from localkube import clusters
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress

CLUSTER = "bench-loop"
COMMAND = ".venv/bin/python bench/loop.py"
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

One controller, written for each: for each object it makes one ConfigMap and three pods, and when they are there it
writes so into the status. Nobody schedules the pods. All run one after the other on the same API server, each time in
a new namespace and in another order. On kopf it is written in three ways, with kopf's settings as they come: as its
tutorial does, with plain functions and the official client (`bench/crews/tutorial.py`); by somebody who knows kopf
well, with kubernetes_asyncio (`onkopf.py`, `typed.py`); and the same with plain requests, which shows what kopf alone
costs. Ours (`ours.py`) writes with its own client, has a lease, and logs each write. Medians; in brackets, how far
the rounds are apart; 3.0x is three times ours. What was promised of ours beside kopf is about kopf as in its tutorial;
"met" and "not met" tell of each of the three how it stands to that.

- At once: {{burst}} objects are submitted together, {{rounds}} rounds each. CPU is the manager's own, in the kernel
  too, until {TAIL:.0f} s after the last status.
- At rest: {{rest}} objects with three pods each, over {{seconds:.0f}} s, by the manager that made them.
- Restart: on those; from the start of the process until it has looked at every object once.
- Writes: what the API server counts for the objects, their children and events. Renewing a lease is not among them.
"""
Part = Callable[[Trial], Coroutine[None, None, None]]


class Bench:
    def __init__(self, cluster: Cluster, findings: Comparison, scratch: Path, progress: Progress) -> None:
        self._findings = findings
        self._cluster = cluster
        self._scratch = scratch
        self._progress = progress

    async def run(self, asked: argparse.Namespace) -> None:
        kubeconfig = self._cluster.paths.kubeconfig
        with self._progress.step("kopf in a venv of its own"):
            programs = [process.ours(kubeconfig), *process.on_kopf(kubeconfig, self._scratch)]
        burst: Part = functools.partial(trial.burst, count=asked.burst)
        rest: Part = functools.partial(trial.rest, count=asked.rest, seconds=asked.seconds)
        restart: Part = functools.partial(trial.restart, count=asked.rest)
        for number in range(asked.rounds):
            # Forth and back, so that a cluster that fills up is the same to all.
            for program in programs if number % 2 == 0 else programs[::-1]:
                await self._measure(program, f"burst-{program.name}-{number}", {"at once": burst})
        for program in (programs[0], programs[-1]):
            await self._measure(program, f"rest-{program.name}", {"at rest": rest, "restart": restart})

    async def _measure(self, program: Program, namespace: str, parts: dict[str, Part]) -> None:
        """Do one part after the other in a namespace; the first that takes too long ends it."""
        log = self._scratch / f"{namespace}.log"
        note = functools.partial(self._note, program.name)
        async with connected(self._cluster) as client:
            await serve_crews(client)
            async with stage(client, self._cluster.api, namespace) as made:
                for name, part in parts.items():
                    with self._progress.step(f"{program.name}, {name}"):
                        try:
                            await part(Trial(program, made, log, note))
                        except TimeoutError:
                            self._progress.say(f"  given up after {PATIENCE:.0f} s; it said last: {last_line(log)}")
                            self._findings.give_up(program.name, name)
                            return

    def _note(self, program: str, what: str, value: float) -> None:
        self._findings.note(program, what, value)
        self._progress.say(f"  {what} {value:.1f} {MEASURED[what][0]}")


def last_line(log: Path) -> str:
    return (log.read_text(errors="replace").splitlines() or ["nothing"])[-1]


def measure(asked: argparse.Namespace, progress: Progress) -> Comparison:
    home = Home.from_environment()
    findings = Comparison()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        try:
            cluster = clusters.up(home, clusters.Request(CLUSTER, nodes=1), progress, replace_other=True)
            asyncio.run(Bench(cluster, findings, Path(scratch), progress).run(asked))
        finally:
            clusters.down(home, CLUSTER, progress)
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 8 minutes.")
    parser.add_argument("--rounds", type=int, default=2, help="how often a burst is measured, for each manager (2)")
    parser.add_argument("--burst", type=int, default=300, help="how many objects are submitted at once (300)")
    parser.add_argument("--rest", type=int, default=1000, help="how many objects there are at rest (1000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds over which the rest is measured (60)")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    # Ended from outside, it still takes its cluster and its managers with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    compared = measure(asked, Progress())
    found = Findings(COLUMNS, compared.rows(), {"each": compared.figures, "given up": compared.given_up})
    found.show()
    if asked.keep:
        found.keep("loop", "What the loop takes, beside kopf", PREFACE.format(**vars(asked)))


if __name__ == "__main__":
    main()
