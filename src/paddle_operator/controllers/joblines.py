"""The jobs of a SampleSet that have not ended, in the order in which they go, and what they see of each other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.api.meta import Timestamp
from paddle_operator.api.samplejob import SampleJobStatus
from paddle_operator.control.store import Store
from paddle_operator.controllers.setobservation import set_of_job
from paddle_operator.controllers.users import has_begun, status_of
from paddle_operator.desired.samplejob.snapshot import ENDED, Rival, Run
from paddle_operator.desired.samplejob.waiting import MOST_TOLD

LINE = "samplejob-line"


def by_line(job: Manifest) -> Iterable[str]:
    """Index a job by its set until it ends; the runs of a schedule are jobs themselves."""
    is_over = (job.get("status") or {}).get("phase") in ENDED
    has_runs = (job.get("spec") or {}).get("schedule")
    return () if is_over or has_runs else map(str, set_of_job(job))


@dataclass(frozen=True)
class Reading:
    """A job as others see it: `rival`, if it stands in line; `run`, for the schedule that it may be of."""

    version: str
    run: Run
    rival: Rival | None


@dataclass(frozen=True)
class Line:
    """The jobs that stand in it as they were in the store, each one's part in it, and what they see of each other."""

    jobs: list[Manifest] = field(default_factory=list)
    rivals: list[Rival | None] = field(default_factory=list)
    front: tuple[Rival, ...] = ()


class Lines:
    """Remembers what was read of each job, and each line; when the front of one changes, it wakes who stands there."""

    def __init__(self, wake: Callable[[Key], None]) -> None:
        self._wake = wake
        self._readings: dict[Key, Reading] = {}
        self._lines: dict[Key, Line] = {}

    def read(self, job: Manifest) -> Reading:
        """Read a job once for all who look at it, unless it changed."""
        key = key_of(job)
        known = self._readings.get(key)
        if known is None or known.version != version_of(job):
            known = self._readings[key] = reading(job)
        return known

    def front(self, jobs: Store, sample_set: Key, me: Key) -> tuple[Rival, ...]:
        """Give what is to be seen of a line; all others in it have to look when it is not what they saw last."""
        before = self._lines.pop(sample_set, Line())
        now = self._renewed(before, jobs.find(LINE, str(sample_set)))
        if now.jobs:
            self._lines[sample_set] = now
        if now.front != before.front:
            for other in {key_of(job) for job in now.jobs} - {me}:
                self._wake(other)
        return now.front

    def _renewed(self, before: Line, jobs: list[Manifest]) -> Line:
        """Read who changed, and look for the front only if it is something to others: most changes are not."""
        if len(jobs) == len(before.jobs):
            known = zip(jobs, before.jobs, before.rivals, strict=True)
            rivals = [rival if job is was else self.read(job).rival for job, was, rival in known]
        else:
            rivals = [self.read(job).rival for job in jobs]
        return Line(jobs, rivals, before.front if rivals == before.rivals else front_of(rivals))

    def forget(self, job: Key) -> None:
        self._readings.pop(job, None)


def reading(job: Manifest) -> Reading:
    status, key = status_of(job, SampleJobStatus), key_of(job)
    begun, when = has_begun(status), created(job)
    told = find(status.conditions, names.CONDITION_SUCCEEDED)
    lacks = told is not None and told.reason == names.REASON_SECRET_NOT_EXIST
    stands = begun or "deletionTimestamp" not in job["metadata"]
    terminates = (job.get("spec") or {}).get("terminate") is True
    return Reading(
        version=version_of(job),
        run=Run(job, key.name, uid_of(job), status.phase, when, status.completion_time, begun=begun),
        rival=Rival(key.name, when, begun, terminates, lacks) if stands else None,
    )


def created(manifest: Manifest) -> datetime:
    return msgspec.convert(manifest["metadata"]["creationTimestamp"], Timestamp, strict=False)


def front_of(rivals: Iterable[Rival | None]) -> tuple[Rival, ...]:
    """Give those on whom it depends what becomes of others: who has begun, who cancels others, and the next few."""
    line = sorted(filter(None, rivals), key=lambda rival: (not rival.begun, rival.created, rival.name))
    waiting = [rival for rival in line if not rival.begun and not rival.lacks]
    following = {rival.name for rival in waiting[:MOST_TOLD]} | {rival.name for rival in waiting if rival.terminates}
    return tuple(rival for rival in line if rival.begun or rival.name in following)
