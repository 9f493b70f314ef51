"""One partition's part of the work: how it stands, what its server is told, and when it is given up."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec.structs import replace

from paddle_operator.api.samplejob import PartitionResult
from paddle_operator.desired.samplejob.orders import operation_id, order, own_prefix, secret_of
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.sampleset.runtimes import Standing, Word, Work

# A set gives a dead node's partition to another node in less than half of it.
PATIENCE = timedelta(minutes=10)
# Somebody looks at a progress bar; a write every few seconds is what that is worth.
CALM = timedelta(seconds=3)
LONGEST_WORDS = 500
CHANGED = "files came or went while the servers listed them, so that they took shares of different ones"


class Part(StrEnum):
    """Where a part stands; the last three are for good. What is lost may yet go on where nobody sees it."""

    NONE = ""
    QUEUED = "Queued"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    LOST = "Lost"

    @property
    def is_over(self) -> bool:
        return self in (Part.SUCCEEDED, Part.FAILED, Part.LOST)


@dataclass(frozen=True)
class Look:
    """A part as it stands now; `errand`: what its server is told; `due`: when it is given up, or has new figures."""

    result: PartitionResult
    errand: Errand | None = None
    due: datetime | None = None

    @property
    def is_over(self) -> bool:
        return Part(self.result.phase).is_over


def looked_at(snapshot: Snapshot, result: PartitionResult, *, stops: bool) -> Look:
    """Look at a part; `stops`: the job is to end, so what has not ended is cancelled."""
    if Part(result.phase).is_over:
        return Look(result)
    runtime = snapshot.runtimes.get(result.partition)
    if runtime is None or not runtime.listens or runtime.word is None:
        unheard = runtime is not None and runtime.ready and runtime.word is None and not runtime.trouble
        return Look(result) if unheard else _away(snapshot, result, stops=stops)
    return _heard(snapshot, replace(result, away_since=None), runtime.word, stops=stops)


def _away(snapshot: Snapshot, result: PartitionResult, *, stops: bool) -> Look:
    """Wait for a server that is not there, unless there is nothing to wait for any more.

    How long it has been away cannot be seen, so the status remembers it.
    """
    since = result.away_since or snapshot.now
    runtime = snapshot.runtimes.get(result.partition)
    why = (runtime.trouble or runtime.why_not) if runtime else "there is no such pod"
    told = f": {why}" if why else ""
    if stops or snapshot.now - since >= PATIENCE:
        long = "when the work was to end" if stops else f"for {PATIENCE.seconds // 60} minutes"
        lost = ended(result, Part.LOST, f"did not answer {long}{told}")
        return Look(replace(lost, away_since=since))
    message = f"does not answer{told}"
    return Look(replace(result, message=message[:LONGEST_WORDS], away_since=since), due=since + PATIENCE)


def _heard(snapshot: Snapshot, result: PartitionResult, word: Word, *, stops: bool) -> Look:
    name = operation_id(snapshot.before, result.partition)
    work = word.works.get(name)
    if work is None and name in word.refused:
        return Look(ended(result, Part.FAILED, word.refused[name]))
    if work is None and stops and not result.phase:
        return Look(ended(result, Part.FAILED, "was not begun"))
    if work is None or (work.lacks_keys and not stops):
        given = order(snapshot, result.partition, len(snapshot.before.results))
        errand = Errand(result.pod, name, {}) if stops else Errand(result.pod, name, given, secret_of(snapshot.job))
        return Look(result, errand)
    shown = with_figures(result, work, snapshot.now)
    if work.standing is Standing.SUCCEEDED:
        return Look(ended(shown, Part.SUCCEEDED, work.message))
    if work.standing.is_over:
        return Look(ended(shown, Part.FAILED, work.message or f"the work was {work.standing.value.lower()}"))
    phase = Part.QUEUED if work.standing is Standing.QUEUED else Part.RUNNING
    due = _calm_until(snapshot) if shown != result and phase == result.phase else None
    shown = replace(result if due else shown, phase=phase.value, message=work.message[:LONGEST_WORDS])
    return Look(shown, Errand(result.pod, name, {}) if stops else None, due)


def _calm_until(snapshot: Snapshot) -> datetime | None:
    """Say until when figures stay as they are, however often the job is looked at for other reasons."""
    until = snapshot.figures_since + CALM if snapshot.figures_since else snapshot.now
    return until if until > snapshot.now else None


def ended(result: PartitionResult, phase: Part, message: str) -> PartitionResult:
    return replace(result, phase=phase.value, message=message[:LONGEST_WORDS], seconds_left=None)


def with_figures(result: PartitionResult, work: Work, now: datetime) -> PartitionResult:
    """Say how far it is. A rate is only known anew when something was done: else each look would change the status."""
    shown = replace(
        result,
        done_files=work.files,
        total_files=work.total_files,
        done_bytes=work.bytes,
        total_bytes=work.total_bytes,
    )
    if work.standing.is_over:
        shown = replace(shown, dealt_from=work.dealt_from)
    if work.standing.is_over and (work.expected_blocks or work.missing_files):
        shown = replace(
            shown,
            expected_blocks=work.expected_blocks,
            present_blocks=work.present_blocks,
            missing_files=work.missing_files,
            missing=work.missing,
            damaged_files=work.damaged_files,
        )
    done, total = (work.bytes, work.total_bytes) if work.total_bytes else (work.files, work.total_files)
    if shown == result or work.began is None or not (work.bytes or work.files):
        return shown
    seconds = max(((work.ended or now) - work.began).total_seconds(), 1.0)
    left = int(seconds * (total - done) / done) if 0 < done <= total else None
    return replace(shown, bytes_per_second=int(work.bytes / seconds), seconds_left=left)


def agreed(results: tuple[PartitionResult, ...]) -> tuple[PartitionResult, ...]:
    """Let none succeed where servers took shares of different files: some files are then in no share."""
    seen = {found.dealt_from for found in results if found.phase == Part.SUCCEEDED and found.dealt_from}
    if len(seen) <= 1:
        return results
    return tuple(_disagreed(found) if found.phase == Part.SUCCEEDED else found for found in results)


def _disagreed(result: PartitionResult) -> PartitionResult:
    words = (f"{CHANGED}: {result.dealt_from}", result.message)
    return ended(result, Part.FAILED, "; ".join(word for word in words if word))


def left_over(snapshot: Snapshot) -> list[Errand]:
    """Cancel what was ordered for this job with other options, in an earlier try, or for another partition."""
    return [
        Errand(runtime.name, name, {})
        for runtime in snapshot.runtimes.values()
        if runtime.listens and runtime.word is not None
        for name, work in runtime.word.works.items()
        if name.startswith(own_prefix(snapshot.job)) and not work.standing.is_over
        if name != operation_id(snapshot.before, runtime.partition)
    ]
