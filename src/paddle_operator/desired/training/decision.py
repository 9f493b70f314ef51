"""What is to be written for a job, as data: objects, its status, what to tell, and when to look again."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Generic, Self, TypeVar

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Record
from paddle_operator.desired.telling import Notice, Refusal
from paddle_operator.desired.training.observedpod import ObservedPod
from paddle_operator.desired.training.settings import Scheduling

Status = TypeVar("Status", bound=Record)


class Piece(StrEnum):
    """A kind of object that belongs to a job."""

    CACHE = "CacheBackend"
    CONFIG_MAP = "ConfigMap"
    SERVICE = "Service"
    POD = "Pod"
    POD_GROUP = "PodGroup"
    WORKLOAD = "Workload"


Pieces = tuple[tuple[Piece, Manifest], ...]
GANGS = {Scheduling.VOLCANO: Piece.POD_GROUP, Scheduling.NATIVE: Piece.WORKLOAD}


@dataclass(frozen=True)
class Decision(Generic[Status]):
    """`change` and `expired` are for the job itself; what is to be deleted is given as it was observed.

    `strike`: delete these without asking their nodes. `claimed`: the cache that is to be told that the job uses it.
    """

    status: Status
    change: Manifest = field(default_factory=dict)
    claimed: Manifest = field(default_factory=dict)
    apply: Pieces = ()
    create: Pieces = ()
    delete: Pieces = ()
    strike: Pieces = ()
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None
    refusal: Refusal | None = None
    expired: bool = False

    def looked_at_again(self, now: datetime, *moments: datetime | None) -> Self:
        """Look again at the first of these moments that is to come."""
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
        known = [] if self.look_again is None else [self.look_again]
        return replace(self, look_again=min([*known, *waits], default=None))


def written(status: Record) -> Manifest:
    """Give a status as it comes back from the API server, so that the two can be compared."""
    manifest: Manifest = msgspec.json.decode(msgspec.json.encode(status))
    return manifest


def pieces(piece: Piece, manifests: Iterable[Manifest]) -> Pieces:
    return tuple((piece, manifest) for manifest in manifests)


def stopped(pods: Iterable[ObservedPod]) -> Pieces:
    """Delete these pods, but for those that somebody deleted already."""
    return pieces(Piece.POD, (pod.manifest for pod in pods if not pod.stopping))
