"""The first copy of the sources into the set: by server 0, once, until it succeeds."""

from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.sampleset import SampleSetPhase
from paddle_operator.desired.sampleset.errands import Try, tried
from paddle_operator.desired.sampleset.naming import digest
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.sources import Origin, origins


@dataclass(frozen=True)
class Sync:
    """`phase` is where the set stands as long as it is not done."""

    condition: Condition
    phase: SampleSetPhase = SampleSetPhase.MOUNT
    tries: tuple[Try, ...] = ()

    @property
    def done(self) -> bool:
        return self.condition.status == "True"


def sync_of(snapshot: Snapshot) -> Sync:
    wanted = origins(snapshot.sample_set)
    if not wanted:
        return Sync(_told(names.REASON_NO_SYNC, "nothing is to be copied: noSync is true", holds=True))
    # Servers forget: that the data was copied cannot be seen for ever, so the condition remembers it.
    known = find(snapshot.before.conditions, names.CONDITION_SYNCED)
    if known is not None and known.status == "True":
        return Sync(known)
    first = snapshot.runtimes.get(0)
    if first is None or not first.ready:
        return Sync(_told(names.REASON_SYNC_WAITING, "the server of partition 0 is not ready yet"))
    if first.word is None or not first.word.mounted:
        return _unheard(snapshot, known, first.trouble)
    uid = snapshot.sample_set.metadata.uid
    return _stands(
        tuple(
            tried(first, f"sync-{digest(uid, origin)[:12]}", order(origin), snapshot.now, origin.secret)
            for origin in wanted
        )
    )


def order(origin: Origin) -> Manifest:
    return {"type": "sync", "source": origin.uri, **({"destination": origin.path} if origin.path else {})}


def _unheard(snapshot: Snapshot, known: Condition | None, trouble: str) -> Sync:
    """Leave it at what was said last: no news are no reason to take it back."""
    phase = snapshot.before.phase
    if known is not None and not trouble and phase in (SampleSetPhase.SYNCING, SampleSetPhase.SYNC_FAILED):
        return Sync(known, SampleSetPhase(phase))
    why = f": {trouble}" if trouble else ""
    return Sync(_told(names.REASON_SYNC_WAITING, f"the server of partition 0 has not reported yet{why}"))


def _stands(tries: tuple[Try, ...]) -> Sync:
    if all(found.succeeded for found in tries):
        number = "the source was" if len(tries) == 1 else f"all {len(tries)} sources were"
        return Sync(_told(names.REASON_SYNC_JOB_SUCCEEDED, f"{number} copied", holds=True), tries=tries)
    if stuck := [found for found in tries if found.is_stuck]:
        message = stuck[0].complaint or "the copy failed"
        return Sync(_told(names.REASON_SYNC_JOB_FAILED, message), SampleSetPhase.SYNC_FAILED, tries)
    if any(found.work is not None for found in tries):
        return Sync(_told(names.REASON_SYNCING, _progress(tries)), SampleSetPhase.SYNCING, tries)
    return Sync(_told(names.REASON_CREATE_SYNC_JOB, "the server of partition 0 is told to copy"), tries=tries)


def _progress(tries: tuple[Try, ...]) -> str:
    works = [found.work for found in tries if found.work is not None]
    files, total = sum(work.files for work in works), sum(work.total_files for work in works)
    return f"{files:,} of {total:,} files are copied" if total else f"{files:,} files are copied"


def _told(reason: str, message: str, *, holds: bool = False) -> Condition:
    return condition(names.CONDITION_SYNCED, reason, message, holds=holds)
