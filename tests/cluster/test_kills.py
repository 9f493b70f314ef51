"""A manager that is killed at any moment and started again brings everything to its end, and makes nothing twice."""

import asyncio
import contextlib
import os
import random
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from support import familymanager, ledger
from support.ledger import Ledger
from support.village import Village

pytestmark = pytest.mark.usefixtures("parents_collected")
ROUNDS = int(os.environ.get("KILL_ROUNDS", "50"))
# A new one each time finds more; KILL_SEED repeats one, as far as time can be repeated.
SEED = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
TO_THE_END_EVERY = 10
LONGEST_START = 1.0
PATIENCE = 2.0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "manager.log"
    yield place
    sys.stdout.write(place.read_text())


class Killed:
    """A manager that runs as a program until it is killed; all its lives write one log."""

    def __init__(self, argv: list[str], log: Path) -> None:
        self._argv = argv
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv, stderr=log, env=familymanager.environment()
            )

    async def kill(self) -> None:
        assert self._process is not None
        assert self._process.returncode is None, f"it ended by itself with {self._process.returncode}"
        self._process.kill()
        await self._process.wait()


@contextlib.asynccontextmanager
async def managed(kube: Cluster, namespace: str, log: Path) -> AsyncIterator[Killed]:
    manager = Killed(familymanager.command(kube.paths.kubeconfig, namespace), log)
    await manager.start()
    try:
        yield manager
    finally:
        await manager.kill()


async def some_time(kept: Ledger, chance: random.Random) -> str:
    """Let a part of a start pass by, or a few changes by whomever."""
    if chance.random() < 0.5:
        seconds = chance.uniform(0.0, LONGEST_START)
        await asyncio.sleep(seconds)
        return f"{seconds:.3f} s"
    number = chance.randint(1, 12)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(kept.wait_for(number), PATIENCE)
    return f"{number} changes"


async def test_killed_at_any_moment_it_comes_to_the_end_and_makes_nothing_twice(
    kube: Cluster, namespace: Kubectl, log: Path
) -> None:
    chance = random.Random(SEED)  # noqa: S311 to be repeated, not to be secret
    async with (
        Client(config.load(str(kube.paths.kubeconfig)), "tester") as client,
        ledger.keeping(client, namespace.namespace) as kept,
        managed(kube, namespace.namespace, log) as manager,
    ):
        village = Village(client, kept, namespace.namespace, chance)
        for number in range(1, ROUNDS + 1):
            where = f"KILL_SEED={SEED} round {number}"
            try:
                changed = await village.change()
                waited = await some_time(kept, chance)
                left = len(kept.complaints())
                sys.stdout.write(f"{where}: {changed}; killed after {waited}, {left} things left to do\n")
                await manager.kill()
                await manager.start()
                if number % TO_THE_END_EVERY == 0 or number == ROUNDS:
                    await kept.right()
                assert kept.wrongs() == []
            except AssertionError as error:
                error.add_note(where)
                raise
