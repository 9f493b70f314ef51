"""Measures TFJobs that share caches on a real API server: at once, at rest, and by chance with managers killed."""

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cachestage import IDLE_SECONDS, Stage, staged
from crews.process import Program, Running, running
from figures import Facts, Findings
from jobstage import ASKED, CRDS, PATIENCE, PAUSE, WRITES, serve_kinds, until_found
from localkube import clusters
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope
from pretendedfluid import DATASETS
from support import fluid

CLUSTER = "bench-caches"
COMMAND = "PYTHONPATH=tests .venv/bin/python bench/caches.py"
OF_CACHES = "tfjobs|cachebackends|datasets|alluxioruntimes|persistentvolumeclaims|pods|services|events"
OURS = re.compile(rf'\bresource="({OF_CACHES})"')
TAIL = 5.0
LIFE = (0.1, 4.0)
# How probable it is, each time that it is looked at, that one which has not begun yet lives on.
PATIENT = 0.99
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

{{jobs}} TFJobs of one worker, which share {{caches}} caches, are submitted together to a real API server. Nobody
schedules the pods; their ends are pretended, and so is Fluid, which binds a claim at once and takes it away at once,
whoever uses it. By chance: for {{seconds:.0f}} s jobs are created, run, end well and badly and are deleted, some caches
lose all their jobs and are deleted {IDLE_SECONDS} s later, and the manager is killed (SIGKILL) and started again,
mostly within {LIFE[1]:g} s of its beginning to work. A use is counted right when `users`, `usedBy` and `usedNum` of a
cache are exactly the jobs that name it and have not ended. Writes are what the API server counts for jobs, caches,
Fluid's objects, claims, pods, services and events, by whomever. At rest: {{rest:.0f}} s in which nobody changes
anything, after the last event is told. CPU and memory are the manager's.
"""


def manager(kubeconfig: Path) -> Program:
    """Start it as users do; the namespace comes last."""
    argv = (
        str(Path(sys.executable).with_name("paddle-operator")), "manager", "--controllers=cachebackend,tfjob",
        f"--kubeconfig={kubeconfig}", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--namespace",
    )  # fmt: skip
    paths = os.pathsep.join(path for path in sys.path if path)
    return Program("manager", argv, {**os.environ, "PYTHONPATH": paths})


async def until(condition: Callable[[], bool]) -> float:
    """Wait for it, and give the seconds that it took."""
    begun = time.monotonic()
    async with asyncio.timeout(PATIENCE):
        while True:
            if condition():
                return time.monotonic() - begun
            await asyncio.sleep(PAUSE)


class Bench:
    def __init__(self, cluster: Cluster, asked: argparse.Namespace, progress: Progress, log: Path) -> None:
        self._cluster, self._asked, self._progress, self._log = cluster, asked, progress, log
        self._manager = manager(cluster.paths.kubeconfig)
        self._chance = random.Random()  # noqa: S311  # when managers die
        self._killed = 0

    def _written(self) -> Counter[str]:
        """Count the writes so far, by what was written."""
        told: Counter[str] = Counter()
        for labels, number in ASKED.findall(self._cluster.api.request("GET", "/metrics")):
            if WRITES.search(labels) and (resource := OURS.search(labels)):
                told[resource[1]] += int(float(number))
        return told

    async def run(self) -> Facts:
        async with Client(config.load(str(self._cluster.paths.kubeconfig)), "bench") as client:
            await serve_kinds(client)
            for definition in fluid.DEFINITIONS:
                await client.apply(CRDS, definition)
            await until_found(lambda: client.list(Scope(DATASETS)))
            async with staged(client, self._asked.caches) as stage:
                return {**await self._first_life(stage), **await self._by_chance(stage), **await self._last_life(stage)}

    async def _first_life(self, stage: Stage) -> Facts:
        jobs = self._asked.jobs
        async with running(self._manager, "caches", self._log) as process:
            with self._progress.step(f"{jobs} jobs at once"):
                begun = time.monotonic()
                await stage.submit(jobs)
                await until(lambda: len(stage.pods) == jobs and stage.is_settled)
                last = time.monotonic() - begun
            writes = await self._quiet()
            return {
                "at once: to the last pod and the last count": f"{last:.1f} s",
                "at once: writes per job": f"{writes / jobs - 1:.1f}",
                "at once: CPU": f"{process.cpu:.1f} s",
                "at once: peak memory": f"{process.peak:.0f} MB",
                **await self._rest(process, "at rest"),
            }

    async def _by_chance(self, stage: Stage) -> Facts:
        with self._progress.step("by chance, with managers killed"):
            end = time.monotonic() + self._asked.seconds
            living = asyncio.create_task(self._live_and_die(end))
            while time.monotonic() < end:
                await stage.act()
                stage.look()
                await asyncio.sleep(self._asked.pause)
            await living
        return {
            "by chance: acts": str(stage.found.acts),
            "by chance: managers killed": str(self._killed),
            "by chance: longest time that a use was counted wrong": f"{stage.found.longest:.1f} s",
        }

    async def _live_and_die(self, end: float) -> None:
        """Start one after the other; most die at work, some before they begin."""
        while time.monotonic() < end:
            begun = self._begun()
            async with running(self._manager, "caches", self._log) as process:
                while self._begun() == begun and self._chance.random() < PATIENT:  # noqa: ASYNC110 it is not in our loop
                    await asyncio.sleep(PAUSE)
                await asyncio.sleep(self._chance.uniform(*LIFE))
                await process.kill()
                self._killed += 1

    def _begun(self) -> int:
        """Count how many have begun to work."""
        return self._log.read_text().count("working controllers=")

    async def _last_life(self, stage: Stage) -> Facts:
        async with running(self._manager, "caches", self._log) as process:
            with self._progress.step("settling"):
                settled = await until(lambda: stage.is_settled)
            await self._quiet()
            rest = await self._rest(process, "at rest afterwards")
        found = stage.found
        return {
            "by chance: uses counted of jobs that never were": str(len(found.strangers)),
            "by chance: claims given up": str(found.given_up),
            "by chance: claims given up that a job used": str(len(found.taken_away)),
            "at the end: until all is counted right": f"{settled:.1f} s",
            "at the end: jobs that go on": str(sum(map(len, stage.live().values()))),
            "at the end: caches counted wrong": str(len(stage.wrong)),
            **rest,
        }

    async def _quiet(self) -> int:
        """Wait until the last event is told, and give how much was written by then."""
        async with asyncio.timeout(PATIENCE):
            before = -1
            while before != (now := self._written().total()):
                before = now
                await asyncio.sleep(TAIL)
        return now

    async def _rest(self, process: Running, when: str) -> Facts:
        cpu, writes = process.cpu, self._written()
        with self._progress.step(when):
            await asyncio.sleep(self._asked.rest)
        found = self._written() - writes
        if found:
            self._progress.say(f"  somebody wrote: {dict(found)}")
        return {
            f"{when}: writes": str(found.total()),
            f"{when}: CPU": f"{(process.cpu - cpu) / self._asked.rest * 100:.1f} % of a core",
        }


def measure(asked: argparse.Namespace, progress: Progress) -> Facts:
    home = Home.from_environment()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        try:
            cluster = clusters.up(home, clusters.Request(CLUSTER, nodes=1), progress, replace_other=True)
            return asyncio.run(Bench(cluster, asked, progress, asked.log or Path(scratch) / "manager.log").run())
        finally:
            clusters.down(home, CLUSTER, progress)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 4 minutes.")
    parser.add_argument("--jobs", type=int, default=300, help="how many jobs are submitted at once (300)")
    parser.add_argument("--caches", type=int, default=10, help="how many caches they share (10)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of what happens by chance (60)")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two acts (0.02)")
    parser.add_argument("--rest", type=float, default=30.0, help="seconds over which each rest is measured (30)")
    parser.add_argument("--log", type=Path, default=None, help="where the manager's log is kept")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    # Ended from outside, it still takes its cluster and its manager with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found = Findings.of(measure(asked, Progress()))
    found.show()
    if asked.keep:
        found.keep("caches", "What many TFJobs that share caches take", PREFACE.format(**vars(asked)))


if __name__ == "__main__":
    main()
