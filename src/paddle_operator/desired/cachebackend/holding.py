"""Jobs whose pods read from a cache keep it from going: it is deleted when the last of them has ended."""

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.meta import Condition
from paddle_operator.desired.cachebackend.snapshot import Snapshot
from paddle_operator.desired.telling import Notice

OWN = names.FINALIZER_CACHEBACKEND
# More would not be read.
MOST_NAMED = 5


def is_ending(snapshot: Snapshot) -> bool:
    return snapshot.cache.metadata.deletion_timestamp is not None


def is_released(snapshot: Snapshot) -> bool:
    return is_ending(snapshot) and not snapshot.holders


def finalizers(snapshot: Snapshot) -> tuple[str, ...] | None:
    """Give those of the cache from now on; nothing if they stay. A cache that no job uses can go without a manager."""
    present = snapshot.cache.metadata.finalizers
    if OWN in present:
        kept = tuple(name for name in present if name != OWN)
        return kept if is_released(snapshot) or not snapshot.users else None
    return (*present, OWN) if snapshot.holders and not is_ending(snapshot) else None


def in_use(snapshot: Snapshot) -> tuple[Condition, ...]:
    """Say for whom the end of a cache waits."""
    if not is_ending(snapshot):
        return ()
    named = ", ".join(snapshot.holders[:MOST_NAMED])
    others = len(snapshot.holders) - MOST_NAMED
    message = f"it is being deleted, and waits for {named}{f' and {others} more' if others > 0 else ''} to end"
    return (condition(names.CONDITION_IN_USE, names.REASON_IN_USE, message, holds=True),)


def notices(snapshot: Snapshot) -> tuple[Notice, ...]:
    """Tell of the wait once."""
    if find(snapshot.before.conditions, names.CONDITION_IN_USE) is not None:
        return ()
    return tuple(Notice(found.reason, found.message, warning=True) for found in in_use(snapshot))
