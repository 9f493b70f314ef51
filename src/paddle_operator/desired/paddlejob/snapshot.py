"""All that was observed of a PaddleJob and what is around it, at one moment."""

from dataclasses import dataclass, field
from datetime import datetime

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob, PaddleJobPhase, PaddleJobStatus
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.training.observedpod import ObservedPod
from paddle_operator.desired.training.settings import DEFAULT_IMAGE, Scheduling
from paddle_operator.desired.training.supply import Supply


@dataclass(frozen=True)
class PortRange:
    """Ports of nodes that jobs on the hosts' network may have, both ends included."""

    first: int = 35000
    last: int = 65000


@dataclass(frozen=True)
class Settings:
    """What the manager was started with; without `init_image` pods do not wait for each other."""

    init_image: str = DEFAULT_IMAGE
    etcd_server: str = ""
    scheduling: Scheduling = Scheduling.NONE
    port_range: PortRange = PortRange()


def goes_on(status: PaddleJobStatus) -> bool:
    """Tell whether the job has begun and not ended, also while it is between its pods and others."""
    return status.phase in (PaddleJobPhase.RUNNING, PaddleJobPhase.RESTARTING)


@dataclass(frozen=True)
class Snapshot:
    """`pods`, `services` and so on are this job's own; `taken_ports` are those of other jobs on the hosts' network.

    `gangs_served` is false where the cluster does not know the kind by which jobs shall be scheduled all or none.
    `leftovers` are pods of an earlier job of this name. `silent_nodes` are those that do not answer, of the nodes with
    pods that should long be gone.
    """

    job: PaddleJob
    now: datetime
    settings: Settings
    pods: tuple[ObservedPod, ...] = ()
    leftovers: tuple[ObservedPod, ...] = ()
    services: tuple[Manifest, ...] = ()
    config_maps: tuple[Manifest, ...] = ()
    gangs: tuple[Manifest, ...] = ()
    gangs_served: bool = True
    sample_set: SampleSet | None = None
    cache: CacheBackend | None = None
    taken_ports: frozenset[int] = field(default_factory=frozenset)
    silent_nodes: frozenset[str] = field(default_factory=frozenset)

    @property
    def before(self) -> PaddleJobStatus:
        """Give the status as it was last written."""
        return self.job.status or PaddleJobStatus()

    @property
    def supply(self) -> Supply:
        """Give the data that the job asks for, and what was seen of it."""
        spec, before = self.job.spec, self.before
        return Supply(
            job=self.job,
            now=self.now,
            known=before.conditions,
            has_run=before.start_time is not None,
            pods=self.pods,
            goes_on=goes_on(before),
            claimed=before.cache_backend_name,
            sample_set_ref=spec.sample_set_ref,
            sample_set=self.sample_set,
            cache_spec=spec.cache_backend,
            cache=self.cache,
        )
