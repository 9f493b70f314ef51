"""Sets that cannot work, whoever let them in: what is wrong, and what to do."""

from paddle_operator.api import names
from paddle_operator.api.sampleset import LONGEST_NAME
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.sources import out_of_bounds
from paddle_operator.desired.telling import Refusal

MOST_PARTITIONS = 10_000


def refusal_of(snapshot: Snapshot) -> Refusal | None:
    """Look for what no server could come of; most of it the API server refuses already, but not every version of it."""
    message = _problem(snapshot)
    return Refusal(names.REASON_INVALID, message) if message else None


def _problem(snapshot: Snapshot) -> str:
    spec, name = snapshot.sample_set.spec, snapshot.sample_set.metadata.name
    if not 1 <= spec.partitions <= MOST_PARTITIONS:
        return f"partitions is {spec.partitions}: ask for 1 up to {MOST_PARTITIONS}"
    if len(name) > LONGEST_NAME or "." in name:
        return (
            f"the name {name} has a dot or more than {LONGEST_NAME} characters: its servers could not be named after it"
        )
    if spec.source is not None and spec.sources:
        return "both source and sources are given: give one of them"
    if spec.source is None and not spec.sources and not spec.no_sync:
        return "say where the data comes from in source, or set noSync: true if it is in the volume already"
    return out_of_bounds(snapshot.sample_set, snapshot.settings.local_sources) or snapshot.engine.problem(
        snapshot.sample_set
    )
