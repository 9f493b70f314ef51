"""From what was observed of a CacheBackend to what is to be written: the one door to this package."""

from dataclasses import dataclass, replace

import msgspec

from paddle_operator.api import names
from paddle_operator.api.cachebackend import CacheBackendStatus, CacheBackendStatusWord
from paddle_operator.api.conditions import condition, renewed
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend import holding
from paddle_operator.desired.cachebackend.engine import Piece, Pieces
from paddle_operator.desired.cachebackend.idleness import idle_since, kept_until
from paddle_operator.desired.cachebackend.snapshot import Snapshot
from paddle_operator.desired.cachebackend.state import State, deadline_of, state_of
from paddle_operator.desired.telling import Notice

# A preload cannot change: it has been carried out.
MADE_ONCE = (Piece.DATA_LOAD,)
LOOK_SECONDS = 15.0
# More would not fit into an object.
MOST_USERS = 1000


@dataclass(frozen=True)
class Decision:
    """`expired`: nobody uses the cache any more, and it is not to be kept. Without a status it is let go.

    `finalizers` are the cache's own from now on, if they change. `released`: no job holds it any more, and it goes.
    """

    status: CacheBackendStatus | None
    apply: Pieces = ()
    create: Pieces = ()
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None
    expired: bool = False
    released: bool = False
    finalizers: tuple[str, ...] | None = None


def plan(snapshot: Snapshot) -> Decision:
    finalizers = holding.finalizers(snapshot)
    if holding.is_released(snapshot):
        return Decision(None, finalizers=finalizers, released=True)
    kept = kept_until(snapshot)
    if kept is not None and kept <= snapshot.now:
        return Decision(None, expired=True)
    state = state_of(snapshot)
    status = status_of(snapshot, state)
    moments = [kept, None if state.ready else deadline_of(snapshot)]
    waits = [(moment - snapshot.now).total_seconds() for moment in moments if moment is not None]
    waits = [wait for wait in waits if wait > 0] + ([LOOK_SECONDS] if state.look else [])
    told = (*notices(snapshot, status, state), *holding.notices(snapshot))
    decision = Decision(status, notices=told, look_again=min(waits, default=None), finalizers=finalizers)
    return _with_objects(snapshot, decision) if state.may_make else decision


def _with_objects(snapshot: Snapshot, decision: Decision) -> Decision:
    """Ask for the engine's objects on every pass: what somebody deleted comes back, what somebody changed too."""
    wanted = snapshot.engine.objects(snapshot.cache) if snapshot.engine is not None else ()
    return replace(
        decision,
        apply=tuple(part for part in wanted if part[0] not in MADE_ONCE),
        create=tuple(part for part in wanted if part[0] in MADE_ONCE),
    )


def status_of(snapshot: Snapshot, state: State) -> CacheBackendStatus:
    before, metadata = snapshot.before, snapshot.cache.metadata
    owner = next((found for found in metadata.owner_references if found.controller), None)
    ready = condition(names.CONDITION_READY, state.reason, state.message, holds=state.ready)
    progress = state.progress
    return CacheBackendStatus(
        job_name=owner.name if owner is not None else before.job_name,
        cache_engine=snapshot.engine_name,
        cache_status=state.word.value,
        used_by=tuple(user.name for user in snapshot.users[:MOST_USERS]),
        used_num=len(snapshot.users),
        users=snapshot.users[:MOST_USERS],
        last_used_time=idle_since(snapshot),
        total_bytes=before.total_bytes if progress is None else progress.total_bytes,
        cached_bytes=before.cached_bytes if progress is None else progress.cached_bytes,
        node_label=before.node_label if progress is None else progress.node_label,
        observed_generation=metadata.generation,
        conditions=renewed(before.conditions, [ready, *holding.in_use(snapshot)], metadata.generation, snapshot.now),
    )


def written(status: CacheBackendStatus) -> Manifest:
    """Give the status as it comes back from the API server, so that the two can be compared."""
    manifest: Manifest = msgspec.json.decode(msgspec.json.encode(status))
    return manifest


def notices(snapshot: Snapshot, status: CacheBackendStatus, state: State) -> tuple[Notice, ...]:
    """Tell of each turn once."""
    if status.cache_status == snapshot.before.cache_status:
        return ()
    failed = state.word is CacheBackendStatusWord.CACHE_FAILED
    return (Notice(state.word.value, f"{state.reason}: {state.message}" if failed else state.message, warning=failed),)
