"""What is to be written for a job, as data: objects, its status, what to tell, and when to look again."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.desired.paddlejob.observedpod import ObservedPod
from paddle_operator.desired.paddlejob.snapshot import Scheduling, Snapshot
from paddle_operator.desired.telling import Notice, Refusal


class Piece(StrEnum):
    """A kind of object that belongs to a job."""

    CONFIG_MAP = "ConfigMap"
    SERVICE = "Service"
    POD = "Pod"
    POD_GROUP = "PodGroup"
    WORKLOAD = "Workload"


Pieces = tuple[tuple[Piece, Manifest], ...]
GANGS = {Scheduling.VOLCANO: Piece.POD_GROUP, Scheduling.NATIVE: Piece.WORKLOAD}


@dataclass(frozen=True)
class Decision:
    """`change` and `expired` are for the job itself; what is to be deleted is given as it was observed.

    `strike`: delete these without asking their nodes.
    """

    status: PaddleJobStatus
    change: Manifest = field(default_factory=dict)
    apply: Pieces = ()
    create: Pieces = ()
    delete: Pieces = ()
    strike: Pieces = ()
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None
    refusal: Refusal | None = None
    expired: bool = False

    def looked_at_again(self, now: datetime, *moments: datetime | None) -> "Decision":
        """Look again at the first of these moments that is to come."""
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
        known = [] if self.look_again is None else [self.look_again]
        return replace(self, look_again=min([*known, *waits], default=None))


def pieces(piece: Piece, manifests: Iterable[Manifest]) -> Pieces:
    return tuple((piece, manifest) for manifest in manifests)


def stopped(pods: Iterable[ObservedPod]) -> Pieces:
    """Delete these pods, but for those that somebody deleted already."""
    return pieces(Piece.POD, (pod.manifest for pod in pods if not pod.stopping))


def withdrawn(snapshot: Snapshot) -> Pieces:
    """Delete the addresses, so that no pod starts with some that hold no longer; the way to them goes first."""
    return (*pieces(Piece.SERVICE, snapshot.services), *pieces(Piece.CONFIG_MAP, snapshot.config_maps))


def gangs(snapshot: Snapshot) -> Pieces:
    piece = GANGS.get(snapshot.settings.scheduling)
    return () if piece is None else pieces(piece, snapshot.gangs)
