"""Each server's share of the data in its cache: once, when the data is there, and again for another number of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.sampleset import NodeStatus
from paddle_operator.desired.sampleset.errands import Try, tried
from paddle_operator.desired.sampleset.naming import digest
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing, Word
from paddle_operator.desired.sampleset.snapshot import Snapshot

# A cache without room for its share, or an object that the store lost, does not get better by reading all again.
LAST_TRY = 2
MOST_TOLD = 3


@dataclass(frozen=True)
class Warming:
    """`warm` are the partitions whose share is cached where their server is now, as far as it can be.

    `missing`: so many files of the share of these could not be.
    """

    warm: frozenset[int]
    missing: Mapping[int, int]
    tries: Mapping[int, Try]
    condition: Condition


def memory(snapshot: Snapshot) -> dict[int, NodeStatus]:
    """Give what the status says of servers that are where they were, and have the cache that they had.

    What these said need not be said again.
    """
    known = {found.partition: found for found in snapshot.before.nodes}
    return {
        number: known[number]
        for number, runtime in snapshot.runtimes.items()
        if number in known and runtime.node and known[number].node == runtime.node
        if not _is_another(known[number].cache, runtime.word)
    }


def _is_another(cache: str, word: Word | None) -> bool:
    """Tell that a cache was lost, as a node's memory is when it starts again; one without a name is the same."""
    return word is not None and word.mounted and "" not in (cache, word.cache) and word.cache != cache


def warming_of(snapshot: Snapshot, *, synced: bool) -> Warming:
    known = memory(snapshot)
    remembered = {
        found.partition: found.missing_files
        for found in known.values()
        if found.warmed_for == snapshot.partitions and found.partition < snapshot.partitions
    }
    cold = [found for found in snapshot.wanted if found.partition not in remembered]
    tries = {found.partition: _try(snapshot, found) for found in cold if synced and found.listens}
    ended = {number: _missing(found) for number, found in tries.items() if found.succeeded or _is_settled(found)}
    missing = remembered | ended
    left = {number: found for number, found in tries.items() if number not in ended}
    warm = frozenset(missing)
    told = _emptied(snapshot, warm) or _condition(snapshot, missing, left, synced=synced)
    return Warming(warm, missing, left, told)


def _is_settled(found: Try) -> bool:
    return found.failed and found.number >= LAST_TRY and _missing(found) > 0


def _missing(found: Try) -> int:
    return found.work.missing_files if found.work is not None else 0


def job_name(snapshot: Snapshot) -> str:
    return f"warmup-{digest(snapshot.sample_set.metadata.uid, snapshot.partitions)[:12]}"


def _try(snapshot: Snapshot, runtime: Runtime) -> Try:
    word = runtime.word or Word()
    # What was brought into a cache that was lost says nothing of the one that is there.
    name = "-".join(part for part in (job_name(snapshot), str(runtime.partition), word.cache) if part)
    cleared = _last_clear(word)
    return tried(runtime, name, order(runtime.partition, snapshot.partitions), snapshot.now, counts_from=cleared)


def _last_clear(word: Word) -> datetime | None:
    """Give the time at which the cache was last emptied: what was brought into it before is not there any more."""
    return max((work.ended for work in word.works.values() if work.type == "clear" and work.ended), default=None)


def _emptied(snapshot: Snapshot, warm: frozenset[int]) -> Condition | None:
    """Say which caches were emptied by order after their share was in them; until all were heard, what was said last.

    They are not filled again: somebody wanted them empty.
    """
    if len(warm) < snapshot.partitions:
        return None
    said = find(snapshot.before.conditions, names.CONDITION_WARM)
    if said is not None and said.reason == names.REASON_EMPTIED and any(one.word is None for one in snapshot.wanted):
        return said
    empty = [str(found.partition) for found in snapshot.wanted if found.word is not None and _is_empty(found.word)]
    which = f"{', '.join(empty[:MOST_TOLD])}{' …' if len(empty) > MOST_TOLD else ''}"
    return _not(names.REASON_EMPTIED, f"emptied by order since the warm-up: partition {which}") if empty else None


def _is_empty(word: Word) -> bool:
    filled = [
        work.ended for work in word.works.values() if work.type == "warmup" and work.standing is Standing.SUCCEEDED
    ]
    cleared = _last_clear(word)
    return cleared is not None and all(ended is not None and ended < cleared for ended in filled)


def order(partition: int, partitions: int) -> Manifest:
    return {"type": "warmup", "share": {"partition": partition, "partitions": partitions}}


def _condition(snapshot: Snapshot, missing: Mapping[int, int], tries: Mapping[int, Try], *, synced: bool) -> Condition:
    message = f"{len(missing)} of {snapshot.partitions} partitions are warmed up"
    lacking = [f"partition {number} lacks {files:,} files of its share" for number, files in missing.items() if files]
    if len(missing) == snapshot.partitions:
        if not lacking:
            return condition(names.CONDITION_WARM, names.REASON_WARM, message, holds=True)
        why = f"{'; '.join(lacking[:MOST_TOLD])}: its cache has no room, or objects are missing in the store or damaged"
        return _not(names.REASON_PARTLY_WARM, f"{message}; {why}")
    stuck = [(number, found) for number, found in sorted(tries.items()) if found.is_stuck]
    if stuck:
        number, found = stuck[0]
        why = found.complaint or "the warm-up failed"
        return _not(names.REASON_WARMUP_FAILED, f"{message}; partition {number}: {why}")
    reason = names.REASON_WARMING if synced else names.REASON_SYNC_WAITING
    return _not(reason, message)


def _not(reason: str, message: str) -> Condition:
    return condition(names.CONDITION_WARM, reason, message, holds=False)
