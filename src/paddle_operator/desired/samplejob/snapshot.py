"""What was observed of a SampleJob and around it, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.samplejob import SampleJob, SampleJobPhase, SampleJobStatus
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.sampleset.runtimes import Runtime

ENDED = (SampleJobPhase.SUCCEEDED, SampleJobPhase.FAILED)


@dataclass(frozen=True)
class Rival:
    """Another job of the same set that has not ended; `begun`: its servers were chosen.

    `lacks`: it said last that it cannot begin without its Secret, which nobody knows when to expect.
    """

    name: str
    created: datetime
    begun: bool = False
    terminates: bool = False
    lacks: bool = False


@dataclass(frozen=True)
class Run:
    """A run of a schedule: a job of its own, as it was observed; `begun`: its servers were chosen."""

    manifest: Manifest
    name: str
    uid: str
    phase: str
    created: datetime
    ended: datetime | None = None
    begun: bool = False

    @property
    def is_over(self) -> bool:
        return self.phase in ENDED


@dataclass(frozen=True)
class Snapshot:
    """`sample_set`: nothing if there is none. `caches` are the directories of its nodes that the data is cached in.

    `rivals` are those on whom it depends when this one begins, in the order in which they go.
    `runtimes` are its servers, by partition. `has_secret`: the Secret that a sync names is there, or none is needed.
    `figures_since`: when the results that the status has were first seen; nothing if that is not known.
    `runs` and `zone` are of a job with a schedule; without a zone, there is none of the name that it gives.
    """

    job: SampleJob
    now: datetime
    sample_set: SampleSet | None = None
    caches: tuple[str, ...] = ()
    runtimes: Mapping[int, Runtime] = field(default_factory=dict)
    rivals: tuple[Rival, ...] = ()
    has_secret: bool = True
    figures_since: datetime | None = None
    runs: tuple[Run, ...] = ()
    zone: tzinfo | None = None

    @property
    def before(self) -> SampleJobStatus:
        """Give the status as it was last written."""
        return self.job.status or SampleJobStatus()

    @property
    def created(self) -> datetime:
        return self.job.metadata.creation_timestamp or self.now
