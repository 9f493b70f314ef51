"""What is seen of a SampleJob and around it: its set and the set's servers, the jobs beside it, its Secret."""

import asyncio
import os
import weakref
from collections.abc import Iterable
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.api.samplejob import PartitionResult, SampleJob, SampleJobStatus
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import Tell, World, key_of_owner
from paddle_operator.controllers.joblines import Lines
from paddle_operator.controllers.kinds import SAMPLE_JOBS, SAMPLE_SETS
from paddle_operator.controllers.runtimes import Runtimes
from paddle_operator.controllers.secrets import Secrets
from paddle_operator.controllers.setobservation import (
    endpoints_of,
    observe_token,
    own_object,
    pods_of,
    runtimes_of,
    set_of_job,
    set_of_label,
)
from paddle_operator.controllers.users import has_begun
from paddle_operator.desired.samplejob import partitions
from paddle_operator.desired.samplejob.orders import secret_of
from paddle_operator.desired.samplejob.partitions import Part
from paddle_operator.desired.samplejob.snapshot import ENDED, Rival, Run, Snapshot
from paddle_operator.desired.samplejob.waiting import is_ahead
from paddle_operator.desired.sampleset.decision import Piece
from paddle_operator.desired.sampleset.naming import key_of_set, runtime_name
from paddle_operator.desired.sampleset.runtimes import Runtime
from paddle_operator.engines.registry import engine_of

SET, OWNER = "samplejob-set", "samplejob-owner"
OWNERS = key_of_owner(SAMPLE_JOBS)


def key_of_reference(job: SampleJob) -> Key:
    return Key(job.metadata.namespace, job.spec.sample_set_ref.name)


def is_open(status: SampleJobStatus) -> bool:
    """Tell whether servers may still have to do with the job."""
    return status.phase not in ENDED or any(result.phase == Part.LOST for result in status.results)


def only_waits(snapshot: Snapshot) -> bool:
    """Tell whether others go first and no server has to do with the job: what was ever begun has its finalizer."""
    before = snapshot.before
    idle = before.phase not in ENDED and not has_begun(before) and not snapshot.job.metadata.finalizers
    return idle and any(is_ahead(snapshot, rival) for rival in snapshot.rivals)


class Observer:
    """Sees jobs; which of them are open, by set, is remembered from the time that each was last looked at.

    Of these, what servers do is nothing to those that only wait.
    """

    def __init__(self) -> None:
        self._secrets = Secrets()
        self.runtimes = Runtimes(self._secrets, calm=partitions.CALM.total_seconds())
        self._open: dict[Key, set[Key]] = {}
        self._waiting: set[Key] = set()
        self._lines = Lines(lambda job: self._tell(job, 0.0))
        self._changed: dict[Key, set[Key]] = {}
        self._tell: Tell = lambda _job, _after: None
        self._figures: dict[Key, tuple[tuple[PartitionResult, ...], datetime]] = {}
        self._turns: weakref.WeakValueDictionary[Key, asyncio.Lock] = weakref.WeakValueDictionary()

    def turn(self, sample_set: Key) -> asyncio.Lock:
        """Have one job of a set looked at after the other, so that no two begin at once."""
        return self._turns.setdefault(sample_set, asyncio.Lock())

    async def run(self, tell: Tell) -> None:
        """Listen to the servers, and tell the jobs of their set; let jobs that stand in line be woken, too."""
        self._tell = tell

        def told(sample_set: Key, after: float) -> None:
            for job in self._served(sample_set):
                tell(job, after)

        await self.runtimes.run(told)

    def jobs_of_set(self, sample_set: Manifest) -> Iterable[Key]:
        return tuple(self._open.get(key_of(sample_set), ()))

    def jobs_of_part(self, manifest: Manifest) -> Iterable[Key]:
        """Map a set's pod or StatefulSet to the jobs that have to do with the set's servers."""
        return tuple(job for key in set_of_label(manifest) for job in self._served(key))

    def _served(self, sample_set: Key) -> set[Key]:
        return self._open.get(sample_set, set()) - self._waiting

    def jobs_of_job(self, job: Manifest) -> Iterable[Key]:
        """Map a job to itself and to the one whose run it is; who stands in line with it is woken if need be."""
        self._changed.setdefault(key_of(job), set()).update(set_of_job(job))
        return (key_of(job), *OWNERS(job))

    def line_up(self, world: World, job: Key) -> None:
        """Wake those that stood or stand in line with a job that changed or is gone, unless it is nothing to them."""
        for sample_set in self._changed.pop(job, ()):
            self._lines.front(world.stores[SAMPLE_JOBS], sample_set, job)

    def forget(self, job: Key) -> None:
        self._lines.forget(job)
        self._figures.pop(job, None)
        self._waiting.discard(job)
        for sample_set in [found for found, jobs in self._open.items() if job in jobs]:
            self._open[sample_set].discard(job)
            if not self._open[sample_set]:
                del self._open[sample_set]
                self.runtimes.forget(sample_set)

    async def observe(self, world: World, job: SampleJob) -> Snapshot:
        """Ask for what has to be asked for first: what is in the caches then is of one moment."""
        now = world.now().replace(microsecond=0)
        if job.spec.schedule is not None:
            return Snapshot(job, now, runs=self._runs(world, job), zone=observe_zone(job.spec.time_zone))
        me, reference = Key(job.metadata.namespace, job.metadata.name), key_of_reference(job)
        if is_open(job.status or SampleJobStatus()):
            self._open.setdefault(reference, set()).add(me)
        else:
            self.forget(me)
        secret = secret_of(job)
        found = await self._secrets.read(world.client, secret) if secret is not None else None
        sample_set = observe_set(world, reference)
        runtimes = await self._runtimes(world, sample_set) if sample_set and reference in self._open else {}
        snapshot = Snapshot(
            job=job,
            now=now,
            sample_set=sample_set,
            caches=engine_of(sample_set).cache_directories(sample_set) if sample_set else (),
            runtimes=runtimes,
            rivals=self._rivals(world, me, reference),
            has_secret=secret is None or found is not None,
            figures_since=self._seen(me, (job.status or SampleJobStatus()).results, now),
        )
        if only_waits(snapshot):
            self._waiting.add(me)
        else:
            self._waiting.discard(me)
        return snapshot

    def _runs(self, world: World, job: SampleJob) -> tuple[Run, ...]:
        found = world.stores[SAMPLE_JOBS].find(OWNER, job.metadata.uid)
        return tuple(self._lines.read(manifest).run for manifest in found)

    def _rivals(self, world: World, me: Key, sample_set: Key) -> tuple[Rival, ...]:
        front = self._lines.front(world.stores[SAMPLE_JOBS], sample_set, me)
        return tuple(rival for rival in front if rival.name != me.name)

    def _seen(self, job: Key, results: tuple[PartitionResult, ...], now: datetime) -> datetime:
        """Tell when these results of a job were first seen."""
        if self._figures.get(job, ((), now))[0] != results:
            self._figures[job] = (results, now)
        return self._figures.setdefault(job, (results, now))[1]

    async def _runtimes(self, world: World, sample_set: SampleSet) -> dict[int, Runtime]:
        token = await observe_token(world, self._secrets, sample_set)
        stateful_set = own_object(world, sample_set, Piece.STATEFUL_SET, runtime_name(sample_set))
        pods = list(pods_of(world, sample_set, stateful_set, SET))
        self.runtimes.follow(key_of_set(sample_set), endpoints_of(pods, token) if token else {})
        return {found.partition: found for found in runtimes_of(self.runtimes, sample_set, pods)}


def observe_set(world: World, key: Key) -> SampleSet | None:
    """Give the set as it is; one that nobody can read counts as none."""
    found = world.stores[SAMPLE_SETS].get(key)
    try:
        return None if found is None else msgspec.convert({**found, **SAMPLE_SETS.identity}, SampleSet)
    except msgspec.ValidationError:
        return None


def observe_zone(name: str | None) -> tzinfo | None:
    """Look for a time zone where this machine keeps them, and then in the package that brings them along."""
    try:
        return ZoneInfo(name or os.environ.get("TZ") or "UTC")
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return None
