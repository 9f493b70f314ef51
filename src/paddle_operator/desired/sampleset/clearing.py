"""Caches that are given up are emptied first, as far as their servers can be reached, and not for long."""

from datetime import datetime, timedelta

from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.sampleset.naming import digest
from paddle_operator.desired.sampleset.runtimes import Runtime, Word
from paddle_operator.desired.sampleset.snapshot import Snapshot

PATIENCE = timedelta(seconds=60)


def clearing(snapshot: Snapshot, runtime: Runtime, until: datetime | None = None) -> Errand | None:
    """Give the order as long as it is worth waiting for its end; nothing when the server may go.

    The spec's generation is part of the id: a cache that was filled anew is emptied anew.
    """
    if not runtime.listens or (until is not None and until <= snapshot.now):
        return None
    metadata = snapshot.sample_set.metadata
    name = f"clear-{digest(metadata.uid, metadata.generation)[:12]}-{runtime.partition}"
    work = (runtime.word or Word()).works.get(name)
    if work is not None and (work.standing.is_over or (work.began or snapshot.now) + PATIENCE <= snapshot.now):
        return None
    return Errand(runtime.name, name, {"type": "clear"})
