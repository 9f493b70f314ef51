"""What is told of a set in events: each turn that it takes, once."""

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.sampleset import SampleSetPhase, SampleSetStatus
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.telling import Notice

# The words that the original operator's events have.
SYNCING = {
    SampleSetPhase.SYNCING: names.REASON_CREATE_SYNC_JOB,
    SampleSetPhase.SYNC_FAILED: names.REASON_SYNC_JOB_FAILED,
}
BAD = {names.REASON_SECRET_NOT_EXIST, names.REASON_WARMUP_FAILED, names.REASON_CLAIM_DELETED, names.REASON_CACHES_LEFT}


def notices(snapshot: Snapshot, after: SampleSetStatus | None) -> tuple[Notice, ...]:
    """Compare the status to be written with the one before; a pass that changes nothing tells nothing."""
    if after is None:
        return ()
    before = snapshot.before
    found = []
    was, now = (find(status.conditions, names.CONDITION_READY) for status in (before, after))
    if after.phase != before.phase and after.phase in SYNCING:
        failed = after.phase == SampleSetPhase.SYNC_FAILED
        found.append(Notice(SYNCING[SampleSetPhase(after.phase)], now.message if now else "", warning=failed))
    synced = find(after.conditions, names.CONDITION_SYNCED)
    if synced is not None and synced.reason == names.REASON_SYNC_JOB_SUCCEEDED and not _was_synced(before):
        found.append(Notice(synced.reason, synced.message))
    if now is not None and (was is None or was.reason != now.reason):
        if now.reason in BAD or now.reason == names.REASON_IN_USE:
            found.append(Notice(now.reason, now.message, warning=now.reason in BAD))
        elif now.reason == names.REASON_READY:
            found.append(Notice(now.reason, now.message))
    return tuple(found)


def _was_synced(before: SampleSetStatus) -> bool:
    known = find(before.conditions, names.CONDITION_SYNCED)
    return known is not None and known.status == "True"
