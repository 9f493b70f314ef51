"""Caches that are given up are emptied first, as far as their servers can be reached, and not for long."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.sampleset.naming import digest
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing
from paddle_operator.desired.sampleset.snapshot import Snapshot

PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True)
class Farewell:
    """Whether a server may go already, and the orders that it gets until then."""

    may_go: bool
    errands: tuple[Errand, ...] = ()


def farewell(snapshot: Snapshot, runtime: Runtime, until: datetime | None = None) -> Farewell:
    """Let a server go when its cache is empty, or when it cannot be asked; `until` is when patience ends at the latest.

    What it works on is of no use any more, and would have the order to empty its cache wait.
    The spec's generation is part of the id: a cache that was filled anew is emptied anew.
    """
    if not (runtime.ready and snapshot.has_token) or (until is not None and until <= snapshot.now):
        return Farewell(may_go=True)
    if runtime.word is None or not runtime.word.mounted:
        return Farewell(may_go=bool(runtime.trouble) or runtime.word is not None)
    name, works = _id(snapshot, runtime), runtime.word.works
    work = works.get(name)
    if work is not None and (work.standing.is_over or (work.ordered or snapshot.now) + PATIENCE <= snapshot.now):
        return Farewell(may_go=True)
    others = [id_ for id_, found in works.items() if id_ != name and not found.standing.is_over]
    cancelled = (Errand(runtime.name, id_, {}) for id_ in others)
    return Farewell(may_go=False, errands=(*cancelled, Errand(runtime.name, name, {"type": "clear", "forget": True})))


def has_emptied(snapshot: Snapshot, runtime: Runtime) -> bool:
    """Tell whether a server says that it did what it was told at last."""
    work = runtime.word.works.get(_id(snapshot, runtime)) if runtime.word is not None else None
    return work is not None and work.standing is Standing.SUCCEEDED


def _id(snapshot: Snapshot, runtime: Runtime) -> str:
    metadata = snapshot.sample_set.metadata
    return f"clear-{digest(metadata.uid, metadata.generation)[:12]}-{runtime.partition}"
