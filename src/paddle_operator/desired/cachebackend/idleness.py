"""Since when nobody uses a cache, and until when it is kept then."""

from datetime import datetime

from paddle_operator.desired.cachebackend.snapshot import Snapshot
from paddle_operator.desired.moments import after


def idle_since(snapshot: Snapshot) -> datetime | None:
    """Remember when nobody was first seen to use it; only the status can."""
    return None if snapshot.users else snapshot.before.last_used_time or snapshot.now


def kept_until(snapshot: Snapshot) -> datetime | None:
    """Give when it is deleted if nobody uses it by then; nothing if it is kept, or used."""
    since, seconds = idle_since(snapshot), snapshot.options.idle_time
    if since is None or not seconds:
        return None
    return after(since, seconds)
