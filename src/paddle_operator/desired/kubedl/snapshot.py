"""All that was observed of a TFJob or a PyTorchJob and what is around it, at one moment."""

from dataclasses import dataclass, field
from datetime import datetime

from paddle_operator.api import names
from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.api.training import TrainingJobStatus
from paddle_operator.desired.kubedl.frameworks import TrainingJob
from paddle_operator.desired.training.observedpod import ObservedPod
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.desired.training.supply import Supply

BEGUN = (names.CONDITION_RUNNING, names.CONDITION_RESTARTING)


def goes_on(status: TrainingJobStatus) -> bool:
    """Tell whether the job has begun and not ended, also while it is between two pods."""
    return any(found.type in BEGUN and found.status == "True" for found in status.conditions)


@dataclass(frozen=True)
class Snapshot:
    """`pods`, `services` and so on are this job's own; `leftovers` are pods of an earlier job of this name."""

    job: TrainingJob
    now: datetime
    scheduling: Scheduling = Scheduling.NONE
    pods: tuple[ObservedPod, ...] = ()
    leftovers: tuple[ObservedPod, ...] = ()
    services: tuple[Manifest, ...] = ()
    gangs: tuple[Manifest, ...] = ()
    gangs_served: bool = True
    sample_set: SampleSet | None = None
    cache: CacheBackend | None = None
    silent_nodes: frozenset[str] = field(default_factory=frozenset)

    @property
    def before(self) -> TrainingJobStatus:
        """Give the status as it was last written."""
        return self.job.status or TrainingJobStatus()

    @property
    def supply(self) -> Supply:
        """Give the data that the job asks for, and what was seen of it."""
        spec, before = self.job.spec, self.before
        return Supply(
            job=self.job,
            now=self.now,
            known=before.conditions,
            has_run=bool(self.pods),
            pods=self.pods,
            goes_on=goes_on(before),
            claimed=before.cache_backend_name,
            sample_set_ref=spec.sample_set_ref,
            sample_set=self.sample_set,
            cache_spec=spec.cache_backend,
            cache=self.cache,
        )
