"""What was observed of a SampleSet and around it, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.sampleset import SampleSet, SampleSetStatus
from paddle_operator.desired.sampleset.engine import Engine
from paddle_operator.desired.sampleset.runtimes import Runtime
from paddle_operator.desired.training.settings import DEFAULT_IMAGE


@dataclass(frozen=True)
class Settings:
    """What the manager was started with; `local_sources` are directories of nodes that may be copied from.

    `namespace` is where pods are made for sets that end, whose own may be ending, too; without it, there.
    """

    runtime_image: str = DEFAULT_IMAGE
    local_sources: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True)
class SecretView:
    """What is known of a Secret: which keys have a value, and a version that changes with the values and tells none."""

    keys: frozenset[str]
    version: str = ""


@dataclass(frozen=True)
class Snapshot:
    """`secrets` are those that the set names; without a view, there is none. `token`: the servers' one, or one to be.

    `volume`, `claim` and `stateful_set` are this set's own. `runtimes` are by partition, also those to be given up.
    `nodes` are those with a label of this set, or that have or had one of its servers, as far as they are there.
    `cleaners` are pods that empty caches which servers left. `users` are jobs that work on the data now.
    `remains` are pods that have ended and still name the claim; only looked for when the set is to end.
    `read_on` are the nodes of all pods that name it; likewise.
    `originals` are objects that the original operator made for it, by kind; likewise.
    """

    sample_set: SampleSet
    now: datetime
    settings: Settings
    engine: Engine
    secrets: Mapping[Key, SecretView | None] = field(default_factory=dict)
    has_token: bool = False
    token: str = field(default="", repr=False)
    volume: Manifest | None = None
    claim: Manifest | None = None
    stateful_set: Manifest | None = None
    runtimes: Mapping[int, Runtime] = field(default_factory=dict)
    nodes: Mapping[str, Manifest] = field(default_factory=dict)
    cleaners: tuple[Manifest, ...] = ()
    users: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    read_on: tuple[str, ...] = ()
    originals: Mapping[str, Manifest] = field(default_factory=dict)

    @property
    def before(self) -> SampleSetStatus:
        """Give the status as it was last written."""
        return self.sample_set.status or SampleSetStatus()

    @property
    def ends(self) -> bool:
        return self.sample_set.metadata.deletion_timestamp is not None

    @property
    def partitions(self) -> int:
        return self.sample_set.spec.partitions

    @property
    def wanted(self) -> tuple[Runtime, ...]:
        """Give the servers of the partitions that are asked for."""
        return tuple(found for number, found in sorted(self.runtimes.items()) if number < self.partitions)

    @property
    def surplus(self) -> tuple[Runtime, ...]:
        return tuple(found for number, found in sorted(self.runtimes.items()) if number >= self.partitions)
