"""Manager and runtime servers, killed at random moments: each run of a SampleJob happens once, and none is lost."""

import asyncio
import contextlib
import datetime as dt
import json
import os
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from paddle_operator.api.manifest import Manifest
from support import cachecluster, embeddedapi
from support.cachecluster import CacheCluster
from support.clockedmanager import ClockedManager
from support.embeddedapi import Api
from support.enginebox import Volume, made_box
from support.eventually import eventually
from support.realruntime import RealRuntime, servers_of
from support.samplejobs import job, status
from support.sampleloop import stands
from support.samplesets import sample_set, secret

ROUNDS = int(os.environ.get("JOB_KILL_ROUNDS", "2"))
SEED = int(os.environ.get("JOB_KILL_SEED") or secrets.randbelow(1_000_000))
SERVERS = 2
KILLS = 2
LONGEST_PAUSE = 1.0
PATIENCE = 90.0
SCHEDULE = "nightly"
# How many servers work for a job of each type.
WORKERS = {"warmup": SERVERS, "clear": SERVERS, "rmr": 1}


@dataclass(frozen=True)
class World:
    """One schedule that strikes when the clock is moved, and all that can be killed."""

    api: Api
    cluster: CacheCluster
    volume: Volume
    manager: ClockedManager

    @property
    def servers(self) -> list[RealRuntime]:
        return [found for found in self.cluster.runtimes.values() if isinstance(found, RealRuntime)]

    def jobs(self) -> dict[str, Manifest]:
        """Give what is to be done once: the runs of the schedule, and the jobs beside it."""
        found = {made["metadata"]["name"]: made for made in self.api.all("samplejobs")}
        return {name: made for name, made in found.items() if name != SCHEDULE}

    def runs(self) -> list[str]:
        return [name for name in self.jobs() if name.startswith(f"{SCHEDULE}-")]

    async def rests(self, runs: int) -> None:
        """Wait until there were as many runs, and all that is to be done is done."""
        await eventually(lambda: len(self.runs()) == runs and all(map(self._is_done, self.jobs())), PATIENCE)

    def _is_done(self, name: str) -> bool:
        return bool(status(self.api, name).get("phase") == "Succeeded")

    async def strike(self, *jobs: Manifest) -> None:
        """Kill the manager, and let it find when it is back these jobs, and that an hour has struck.

        A job that it had begun before would think that its servers were away for all of this hour.
        """
        self.manager.kill()
        for made in jobs:
            self.api.put("samplejobs", made)
        self.manager.move(dt.timedelta(hours=1))
        self.manager.start()

    async def kill_something(self, chance: random.Random) -> None:
        await asyncio.sleep(chance.uniform(0.0, LONGEST_PAUSE))
        victims: list[Callable[[], Awaitable[None]]] = [server.crash for server in self.servers]
        await chance.choice([*victims, self.restart])()

    async def restart(self) -> None:
        await asyncio.to_thread(self.manager.restart)


@contextlib.asynccontextmanager
async def made_world(place: Path) -> AsyncIterator[World]:
    with made_box(place) as box:
        volume = Volume(box)
        for number in range(60):
            volume.write(f"train/{number}", os.urandom(1000))
        async with embeddedapi.running() as api, cachecluster.running(api, "node-1", "node-2") as cluster:
            cluster.make_server = servers_of(box, volume)
            manager = ClockedManager(kubeconfig(place, api), "default", place / "manager.log", CONTROLLERS)
            api.put("secrets", secret())
            api.put("samplesets", sample_set(partitions=SERVERS, source=None, noSync=True))
            manager.start()
            try:
                await eventually(stands(api, "Ready"), PATIENCE)
                yield World(api, cluster, volume, manager)
            finally:
                manager.kill()


CONTROLLERS = "--controllers=sampleset,samplejob"


def kubeconfig(place: Path, api: Api) -> Path:
    one = {
        "name": "one",
        "cluster": {"server": api.config.server},
        "user": {},
        "context": {"cluster": "one", "user": "one"},
    }
    content = {"apiVersion": "v1", "kind": "Config", "current-context": "one"}
    file = place / "kubeconfig"
    file.write_text(json.dumps({**content, "clusters": [one], "users": [one], "contexts": [one]}))
    return file


def wrongs(world: World) -> list[str]:
    """Name each job that was not given to each of its servers once, or did not succeed there."""
    found = []
    for name, made in world.jobs().items():
        done = [
            (number, operation["state"])
            for number, server in enumerate(world.servers)
            for operation in server.done()
            if operation["id"].startswith(f"{name}-")
        ]
        if done != [(number, "Succeeded") for number in range(WORKERS[made["spec"]["type"]])]:
            found.append(f"{name}: {done}")
    return found


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
async def test_killed_at_any_moment_each_run_happens_once_and_none_is_lost(tmp_path: Path, policy: str) -> None:
    schedule = {"schedule": "0 * * * *", "concurrencyPolicy": policy, "successfulJobsHistoryLimit": 1000}
    chance = random.Random(SEED)  # noqa: S311 to be repeated, not to be secret
    async with made_world(tmp_path) as world:
        world.api.put("samplejobs", job("warmup", SCHEDULE, **schedule))
        try:
            for number in range(ROUNDS):
                world.volume.write(f"old/{number}", b"x")
                removing = job("rmr", f"r{number}x", rmrOptions={"paths": [f"old/{number}"]})
                await world.strike(removing, job("clear", f"c{number}x"))
                for _ in range(KILLS):
                    await world.kill_something(chance)
                await world.rests(number + 1)
                # Whoever removed it a second time would be seen.
                world.volume.write(f"old/{number}", b"again")
            assert wrongs(world) == []
            assert len(world.jobs()) == ROUNDS * 3
            assert {path.name for path in (world.volume.inside / "old").iterdir()} == set(map(str, range(ROUNDS)))
        except AssertionError as error:
            standing = {name: status(world.api, name) for name in world.jobs()}
            error.add_note(f"JOB_KILL_SEED={SEED}\n{standing}\n{world.manager.log.read_text()[-3000:]}")
            raise
