"""Each server's share of the data in its cache: once, when the data is there, and again for another number of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.sampleset import NodeStatus
from paddle_operator.desired.conditions import condition
from paddle_operator.desired.sampleset.errands import Try, tried
from paddle_operator.desired.sampleset.naming import digest
from paddle_operator.desired.sampleset.runtimes import Runtime, Word
from paddle_operator.desired.sampleset.snapshot import Snapshot


@dataclass(frozen=True)
class Warming:
    """`warm` are the partitions whose share is cached where their server is now."""

    warm: frozenset[int]
    tries: Mapping[int, Try]
    condition: Condition


def memory(snapshot: Snapshot) -> dict[int, NodeStatus]:
    """Give what the status says of servers that are still where they were: what they said need not be said again."""
    known = {found.partition: found for found in snapshot.before.nodes}
    return {
        number: known[number]
        for number, runtime in snapshot.runtimes.items()
        if number in known and runtime.node and known[number].node == runtime.node
    }


def warming_of(snapshot: Snapshot, *, synced: bool) -> Warming:
    known = memory(snapshot)
    remembered = {number for number, found in known.items() if found.warmed_for == snapshot.partitions}
    cold = [found for found in snapshot.wanted if found.partition not in remembered]
    tries = {found.partition: _try(snapshot, found) for found in cold if synced and found.listens}
    done = {number for number, found in tries.items() if found.succeeded}
    warm = frozenset(number for number in remembered | done if number < snapshot.partitions)
    return Warming(warm, tries, _condition(snapshot, warm, tries, synced=synced))


def job_name(snapshot: Snapshot) -> str:
    return f"warmup-{digest(snapshot.sample_set.metadata.uid, snapshot.partitions)[:12]}"


def _try(snapshot: Snapshot, runtime: Runtime) -> Try:
    name = f"{job_name(snapshot)}-{runtime.partition}"
    cleared = _last_clear(runtime.word or Word())
    return tried(runtime, name, order(runtime.partition, snapshot.partitions), snapshot.now, counts_from=cleared)


def _last_clear(word: Word) -> datetime | None:
    """Give the time at which the cache was last emptied: what was brought into it before is not there any more."""
    return max((work.ended for work in word.works.values() if work.type == "clear" and work.ended), default=None)


def order(partition: int, partitions: int) -> Manifest:
    return {"type": "warmup", "share": {"partition": partition, "partitions": partitions}}


def _condition(snapshot: Snapshot, warm: frozenset[int], tries: Mapping[int, Try], *, synced: bool) -> Condition:
    message = f"{len(warm)} of {snapshot.partitions} partitions are warmed up"
    if len(warm) == snapshot.partitions:
        return condition(names.CONDITION_WARM, names.REASON_WARM, message, holds=True)
    failed = [(number, found) for number, found in sorted(tries.items()) if found.failed and found.errand is None]
    if failed:
        number, found = failed[0]
        why = (found.work.message if found.work else "") or "the warm-up failed"
        return _not(names.REASON_WARMUP_FAILED, f"{message}; partition {number}: {why}")
    reason = names.REASON_WARMING if synced else names.REASON_SYNC_WAITING
    return _not(reason, message)


def _not(reason: str, message: str) -> Condition:
    return condition(names.CONDITION_WARM, reason, message, holds=False)
