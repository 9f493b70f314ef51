"""Where a cache stands, and why, in words for its user."""

from dataclasses import dataclass, replace
from datetime import datetime

from paddle_operator.api import names
from paddle_operator.api.cachebackend import CacheBackendStatusWord
from paddle_operator.api.conditions import find
from paddle_operator.desired.cachebackend.engine import Pieces, Progress, Stage
from paddle_operator.desired.cachebackend.snapshot import Sight, Snapshot, is_ending
from paddle_operator.desired.moments import after

STALLED = "Stalled"
CLAIM = "PersistentVolumeClaim"


@dataclass(frozen=True)
class State:
    """`may_make`: the engine's objects are to be there. `look`: nobody tells us when this changes."""

    word: CacheBackendStatusWord
    reason: str
    message: str
    may_make: bool = True
    look: bool = False
    progress: Progress | None = None

    @property
    def ready(self) -> bool:
        return self.word is CacheBackendStatusWord.PVC_CREATED


def state_of(snapshot: Snapshot) -> State:
    state = _impossible(snapshot) or _unseen(snapshot) or _leaving(snapshot) or _name_taken(snapshot)
    return _overdue(snapshot, state or _progress(snapshot))


def _failed(reason: str, message: str, *, look: bool = False) -> State:
    return State(CacheBackendStatusWord.CACHE_FAILED, reason, message, may_make=False, look=look)


def _impossible(snapshot: Snapshot) -> State | None:
    engine = snapshot.engine
    if snapshot.cache.spec.dataset is None or engine is None:
        return _failed(names.REASON_INVALID, "there is nothing to cache: give dataset and cacheEngine")
    problem = engine.problem(snapshot.cache)
    return _failed(names.REASON_INVALID, problem) if problem else None


def _unseen(snapshot: Snapshot) -> State | None:
    for piece, _ in _objects(snapshot):
        sight = snapshot.unseen.get(piece)
        if sight is Sight.ABSENT:
            words = f"the cluster has no {piece}s: {snapshot.engine.missing if snapshot.engine else ''}"
            return _failed(names.REASON_NO_ENGINE, words, look=True)
        if sight is Sight.FORBIDDEN:
            words = f"the manager may not look at {piece}s: give it the rights that `paddle-operator manifests` prints"
            return _failed(names.REASON_FORBIDDEN, words, look=True)
    return None


def _objects(snapshot: Snapshot) -> Pieces:
    return () if snapshot.engine is None else snapshot.engine.objects(snapshot.cache)


def _leaving(snapshot: Snapshot) -> State | None:
    """Wait for what goes already, whoever made it; after that, the cache's own is made."""
    return _until_gone(snapshot, *snapshot.leaving) if snapshot.leaving else None


def _until_gone(snapshot: Snapshot, *kinds: str) -> State:
    words = f"waits for the end of {', '.join(f'{kind} {snapshot.cache.metadata.name}' for kind in kinds)}"
    return State(CacheBackendStatusWord.CACHE_CREATING, names.REASON_CREATING, words, may_make=False)


def _name_taken(snapshot: Snapshot) -> State | None:
    claim, engine = snapshot.claim, snapshot.engine
    if claim is None or engine is None or engine.owns(snapshot.cache, claim, snapshot.parts):
        return None
    if is_ending(claim):
        return _until_gone(snapshot, CLAIM)
    name = snapshot.cache.metadata.name
    words = f"{CLAIM} {name} exists and is not of this cache: delete it, or choose another name"
    return _failed(names.REASON_NAME_TAKEN, words)


def _progress(snapshot: Snapshot) -> State:
    """Say how far the engine is; a write that was refused is known from the status alone."""
    engine = snapshot.engine
    lacking = [piece for piece, _ in _objects(snapshot) if piece not in snapshot.parts]
    stalled = find(snapshot.before.conditions, STALLED)
    if lacking and stalled is not None and stalled.status == "True":
        return State(CacheBackendStatusWord.CACHE_FAILED, stalled.reason, stalled.message)
    if lacking or engine is None:
        words = f"{lacking[0]} {snapshot.cache.metadata.name} is being made"
        return State(CacheBackendStatusWord.CACHE_CREATING, names.REASON_CREATING, words)
    return _claimed(snapshot, engine.progress(snapshot.cache, snapshot.parts))


def _claimed(snapshot: Snapshot, progress: Progress) -> State:
    waits = State(CacheBackendStatusWord.PVC_CREATING, names.REASON_WAITING_FOR_ENGINE, progress.message)
    waits = replace(waits, progress=progress)
    if progress.stage is Stage.FAILED:
        return replace(waits, word=CacheBackendStatusWord.CACHE_FAILED, reason=names.REASON_ENGINE_FAILED)
    if progress.stage is Stage.WORKING:
        return waits
    why = _unbound(snapshot)
    if why:
        return replace(waits, reason=names.REASON_BINDING, message=why)
    return replace(waits, word=CacheBackendStatusWord.PVC_CREATED, reason=names.REASON_READY)


def _unbound(snapshot: Snapshot) -> str:
    claim, name = snapshot.claim, snapshot.cache.metadata.name
    if claim is None:
        return f"there is no {CLAIM} {name} yet"
    if is_ending(claim):
        return f"{CLAIM} {name} is being deleted"
    phase = (claim.get("status") or {}).get("phase") or "Pending"
    return "" if phase == "Bound" else f"{CLAIM} {name} is {phase}"


def deadline_of(snapshot: Snapshot) -> datetime | None:
    """Count from the time since when it is not ready, which only the condition remembers."""
    seconds = snapshot.options.timeout_seconds
    if seconds is None:
        return None
    known = find(snapshot.before.conditions, names.CONDITION_READY)
    since = known.last_transition_time if known is not None and known.status != "True" else None
    return after(since or snapshot.now, seconds)


def _overdue(snapshot: Snapshot, state: State) -> State:
    deadline = deadline_of(snapshot)
    if state.ready or deadline is None or deadline > snapshot.now or state.word is CacheBackendStatusWord.CACHE_FAILED:
        return state
    message = f"it was not ready after {snapshot.options.timeout_seconds} seconds: {state.message}"
    return replace(state, word=CacheBackendStatusWord.CACHE_FAILED, reason=names.REASON_CACHE_TIMEOUT, message=message)
