"""The status of a job: phase, figures, parts and conditions."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, renewed
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase, SampleJobStatus
from paddle_operator.desired.samplejob.partitions import Part
from paddle_operator.desired.samplejob.snapshot import ENDED, Snapshot

# In all: an object has to stay small, and whoever misses more needs no list.
MOST_MISSING = 100
LONGEST_NAME = 256
# In all, in characters; a few for each of as many partitions as there may be, and the rest for the first that failed.
MOST_WORDS = 60_000
FEW_WORDS = 50


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
    """Name no more missing files, and quote no more words, than an object has room for; figures stay."""
    whole = tuple(results)
    words, room, kept = _words(whole), MOST_MISSING, []
    for place, result in enumerate(whole):
        shown = tuple(name[:LONGEST_NAME] for name in result.missing[:room])
        room -= len(shown)
        kept.append(replace(result, message=words.get(place, ""), missing=shown))
    return tuple(kept)


def _words(results: tuple[PartitionResult, ...]) -> dict[int, str]:
    """Give what each has to say, by its place: the first that failed in full, and of the others at least a few words.

    What was cut once is cut to the same length again: a second look changes nothing.
    """
    speak = [place for place, result in enumerate(results) if result.message]
    speak.sort(key=lambda place: not _is_wrong(results[place]))
    room, words = MOST_WORDS, {}
    for number, place in enumerate(speak, 1):
        kept_back = FEW_WORDS * (len(speak) - number)
        words[place] = results[place].message[: max(room - kept_back, min(FEW_WORDS, room))]
        room -= len(words[place])
    return words


def _is_wrong(result: PartitionResult) -> bool:
    return result.phase in (Part.FAILED, Part.LOST) or result.away_since is not None


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
