"""After a job's end, and its deletion: what goes on is cancelled, what is lost is waited for, what is old goes."""

from datetime import timedelta

from msgspec.structs import replace

from paddle_operator.api import names
from paddle_operator.api.conditions import condition
from paddle_operator.api.samplejob import PartitionResult
from paddle_operator.desired.moments import after
from paddle_operator.desired.samplejob.decision import Decision
from paddle_operator.desired.samplejob.orders import operation_id, own_prefix
from paddle_operator.desired.samplejob.partitions import Part
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.samplejob.status import with_conditions
from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.sampleset.runtimes import Word

# For the servers of a deleted job to end what they do; who cannot be reached by then may go on.
PATIENCE = timedelta(seconds=60)
PAUSE_SECONDS = 1.0


def with_own(snapshot: Snapshot) -> tuple[str, ...] | None:
    """Hold the job from the moment that its servers are chosen: its work ends before it goes."""
    metadata = snapshot.job.metadata
    own = names.samplejob_finalizer(metadata.name)
    return None if own in metadata.finalizers else (*metadata.finalizers, own)


def without_own(snapshot: Snapshot) -> tuple[str, ...] | None:
    metadata = snapshot.job.metadata
    own = names.samplejob_finalizer(metadata.name)
    return tuple(name for name in metadata.finalizers if name != own) if own in metadata.finalizers else None


def after_the_end(snapshot: Snapshot) -> Decision:
    """Leave the status as it is, but for servers that were lost and came back: what they still do is cancelled."""
    before, spec = snapshot.before, snapshot.job.spec
    found = [_found_again(snapshot, result) for result in before.results]
    results = tuple(result for result, _ in found)
    errands = tuple(errand for _, some in found for errand in some)
    lost = any(result.phase == Part.LOST for result in results)
    if spec.ttl_seconds_after_finished is None or before.completion_time is None:
        due = None
    else:
        due = after(before.completion_time, spec.ttl_seconds_after_finished)
    status = replace(before, results=results, observed_generation=snapshot.job.metadata.generation)
    finalizers = None if lost else without_own(snapshot)
    expired = due is not None and due <= snapshot.now
    return Decision(status, finalizers, errands, expired=expired).looked_at_again(snapshot.now, due)


def _found_again(snapshot: Snapshot, result: PartitionResult) -> tuple[PartitionResult, list[Errand]]:
    if result.phase != Part.LOST:
        return result, []
    if _has_gone(snapshot, result.partition):
        return replace(result, phase=Part.FAILED.value), []
    runtime = snapshot.runtimes.get(result.partition)
    if runtime is None or not runtime.listens or runtime.word is None:
        return result, []
    errands = _unfinished(snapshot, runtime.name, runtime.word)
    return (result if errands else replace(result, phase=Part.FAILED.value)), errands


def _has_gone(snapshot: Snapshot, partition: int) -> bool:
    """Tell whether nobody will ever take up this partition's work again."""
    sample_set = snapshot.sample_set
    return (
        sample_set is None
        or sample_set.metadata.deletion_timestamp is not None
        or partition >= sample_set.spec.partitions
    )


def _unfinished(snapshot: Snapshot, pod: str, word: Word) -> list[Errand]:
    prefix = own_prefix(snapshot.job)
    return [
        Errand(pod, name, {})
        for name, work in word.works.items()
        if name.startswith(prefix) and not work.standing.is_over
    ]


def end(snapshot: Snapshot) -> Decision:
    """Cancel what the job's servers do, wait until they do not, and let the job go."""
    own = without_own(snapshot)
    if own is None:
        return Decision(None)
    asked = snapshot.job.metadata.deletion_timestamp or snapshot.now
    errands = _all_unfinished(snapshot)
    away = []
    for result in snapshot.before.results:
        runtime = snapshot.runtimes.get(result.partition)
        if result.phase in (Part.SUCCEEDED, Part.FAILED) or _has_gone(snapshot, result.partition):
            continue
        if runtime is None or not runtime.listens or runtime.word is None:
            away.append(result.pod)
            continue
        errands += _unheard(snapshot, result, runtime.word)
    if not errands and (not away or asked + PATIENCE <= snapshot.now):
        return Decision(None, finalizers=own)
    waits = f", and waits for {', '.join(away[:3])}" if away else ""
    told = condition(
        names.CONDITION_SUCCEEDED, names.REASON_TERMINATING, f"it is being deleted: its work ends{waits}", holds=False
    )
    status = replace(snapshot.before, conditions=with_conditions(snapshot, [told]))
    return Decision(status, errands=tuple(errands), look_again=PAUSE_SECONDS)


def _all_unfinished(snapshot: Snapshot) -> list[Errand]:
    """Cancel what any server does for the job, also what was ordered with other options."""
    return [
        errand
        for runtime in snapshot.runtimes.values()
        if runtime.listens and runtime.word is not None
        for errand in _unfinished(snapshot, runtime.name, runtime.word)
    ]


def _unheard(snapshot: Snapshot, result: PartitionResult, word: Word) -> list[Errand]:
    """Cancel also what the server has not told of yet: it may have been told to begin a moment ago."""
    name = operation_id(snapshot.before, result.partition)
    return [] if name in word.works else [Errand(result.pod, name, {})]
