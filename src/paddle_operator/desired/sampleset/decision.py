"""What is to be written for a SampleSet, as data: objects, labels, orders, its status, and when to look again."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import SampleSetStatus
from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.sampleset.nodelabels import Change
from paddle_operator.desired.telling import Notice, Refusal


class Piece(StrEnum):
    """A kind of object that belongs to a set."""

    VOLUME = "PersistentVolume"
    CLAIM = "PersistentVolumeClaim"
    TOKEN = "Secret"  # noqa: S105  # a kind
    SERVICE = "Service"
    STATEFUL_SET = "StatefulSet"
    POD = "Pod"


Pieces = tuple[tuple[Piece, Manifest], ...]


@dataclass(frozen=True)
class Decision:
    """What is to be deleted is given as it was observed; `strike`: delete these without asking their nodes.

    `finalizers` are the set's own from now on, if they change; without a status it is let go.
    """

    status: SampleSetStatus | None
    finalizers: tuple[str, ...] | None = None
    labels: tuple[Change, ...] = ()
    apply: Pieces = ()
    create: Pieces = ()
    delete: Pieces = ()
    strike: Pieces = ()
    errands: tuple[Errand, ...] = ()
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None
    refusal: Refusal | None = None

    def also(self, create: Pieces = (), delete: Pieces = ()) -> "Decision":
        return replace(self, create=(*self.create, *create), delete=(*self.delete, *delete))

    def looked_at_again(self, now: datetime, *moments: datetime | None) -> "Decision":
        """Look again at the first of these moments that is to come."""
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
        known = [] if self.look_again is None else [self.look_again]
        return replace(self, look_again=min([*known, *waits], default=None))


def is_going(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


def removed(piece: Piece, manifest: Manifest | None) -> Pieces:
    """Delete the object, unless there is none or somebody did."""
    return () if manifest is None or is_going(manifest) else ((piece, manifest),)
