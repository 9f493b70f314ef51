"""What a job waits for before it begins: its set, the set's servers, its Secret, and the jobs before it."""

from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.sampleset import SampleSet, SampleSetPhase
from paddle_operator.desired.samplejob.orders import secret_of, targets
from paddle_operator.desired.samplejob.snapshot import Rival, Snapshot

USABLE = (SampleSetPhase.PARTIAL_READY, SampleSetPhase.READY)
MOST_TOLD = 3


@dataclass(frozen=True)
class Wait:
    reason: str
    message: str


def wait_of(snapshot: Snapshot) -> Wait | None:
    """Give the first thing that is lacking; nothing if the job can begin."""
    reference = snapshot.job.spec.sample_set_ref.name
    if snapshot.sample_set is None:
        message = f"there is no SampleSet {reference} in namespace {snapshot.job.metadata.namespace}: create it"
        return Wait(names.REASON_SAMPLESET_NOT_EXIST, message)
    if why := _not_ready(snapshot.sample_set):
        return Wait(names.REASON_WAITING_FOR_SAMPLESET, f"SampleSet {reference} {why}")
    if not snapshot.has_secret:
        secret = secret_of(snapshot.job)
        message = f"there is no Secret {secret} that the manager may read: create it"
        return Wait(names.REASON_SECRET_NOT_EXIST, message)
    if ahead := [rival.name for rival in snapshot.rivals if is_ahead(snapshot, rival)]:
        return Wait(names.REASON_IN_QUEUE, f"waits for SampleJob {', '.join(ahead[:MOST_TOLD])} to end")
    if away := _away(snapshot):
        message = f"SampleSet {reference} has servers that do not answer yet: {', '.join(away[:MOST_TOLD])}"
        return Wait(names.REASON_WAITING_FOR_SAMPLESET, message)
    return None


def is_ahead(snapshot: Snapshot, rival: Rival) -> bool:
    """Let those that have begun go first, then by age, then by name; who cannot begin holds up nobody."""
    mine = (snapshot.created, snapshot.job.metadata.name)
    return rival.begun or (not rival.lacks and (rival.created, rival.name) < mine)


def _not_ready(sample_set: SampleSet) -> str:
    status = sample_set.status
    ready = find(status.conditions, names.CONDITION_READY) if status else None
    told = f": {ready.message}" if ready and ready.message else ""
    if sample_set.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if status is None or status.phase not in USABLE:
        return f"is not ready{told}"
    if ready is not None and ready.reason == names.REASON_WARMING:
        return f"brings its data into the caches first{told}"
    return ""


def _away(snapshot: Snapshot) -> list[str]:
    """Name the servers that the job needs and that cannot be told anything; looked at last, as it passes soon."""
    servers = {found.partition: found for found in snapshot.runtimes.values() if found.listens}
    return [found.pod for found in targets(snapshot) if found.partition not in servers]
