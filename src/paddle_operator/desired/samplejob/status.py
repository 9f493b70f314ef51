"""The status of a job: phase, figures, parts and conditions."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, renewed
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase, SampleJobStatus
from paddle_operator.desired.samplejob.snapshot import ENDED, Snapshot

# In all: an object has to stay small, and whoever misses more needs no list.
MOST_MISSING = 100
LONGEST_NAME = 256


def status_of(snapshot: Snapshot, phase: SampleJobPhase, reason: str, message: str) -> SampleJobStatus:
    """Give the status as it was, with where the job stands now and why."""
    now_so = [condition(names.CONDITION_SUCCEEDED, reason, message, holds=phase is SampleJobPhase.SUCCEEDED)]
    if phase is SampleJobPhase.FAILED:
        now_so.append(condition(names.CONDITION_FAILED, reason, message, holds=True))
    return replace(
        snapshot.before,
        phase=phase.value,
        completion_time=(snapshot.before.completion_time or snapshot.now) if phase in ENDED else None,
        observed_generation=snapshot.job.metadata.generation,
        conditions=with_conditions(snapshot, now_so),
    )


def with_conditions(snapshot: Snapshot, now_so: list[Condition]) -> tuple[Condition, ...]:
    return renewed(snapshot.before.conditions, now_so, snapshot.job.metadata.generation, snapshot.now)


def with_results(status: SampleJobStatus, results: Iterable[PartitionResult]) -> SampleJobStatus:
    kept = bounded(results)
    return replace(status, results=kept, progress=progress(status.phase, kept))


def bounded(results: Iterable[PartitionResult]) -> tuple[PartitionResult, ...]:
    """Name no more missing files than an object has room for; their number stays."""
    room, kept = MOST_MISSING, []
    for result in results:
        shown = tuple(name[:LONGEST_NAME] for name in result.missing[:room])
        room -= len(shown)
        kept.append(replace(result, missing=shown))
    return tuple(kept)


def progress(phase: str, results: tuple[PartitionResult, ...]) -> str:
    """Say how much is done: in percent once all servers know how much there is, in files until then."""
    if phase == SampleJobPhase.SUCCEEDED:
        return "100%"
    files, total_files = _sum(results, "done_files"), _sum(results, "total_files")
    size, total_size = _sum(results, "done_bytes"), _sum(results, "total_bytes")
    known = all(result.total_files for result in results)
    if known and total_files:
        done, total = (size, total_size) if total_size else (files, total_files)
        return f"{min(100 * done // total, 99)}%"
    return f"{files:,} files" if files else ""


def _sum(results: tuple[PartitionResult, ...], figure: str) -> int:
    return sum(getattr(result, figure) or 0 for result in results)


def written(status: SampleJobStatus) -> Manifest:
    """Give the status as it comes back from the API server, so that the two can be compared."""
    manifest: Manifest = msgspec.json.decode(msgspec.json.encode(status))
    return manifest
