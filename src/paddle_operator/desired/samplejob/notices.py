"""What is told of a job in events: each turn that it takes, once."""

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.samplejob import SampleJobPhase, SampleJobStatus
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.telling import Notice

TOLD = {
    names.REASON_SAMPLESET_NOT_EXIST: True,
    names.REASON_SECRET_NOT_EXIST: True,
    names.REASON_WAITING_FOR_SAMPLESET: False,
    names.REASON_IN_QUEUE: False,
    names.REASON_RETRYING: True,
}


def notices(snapshot: Snapshot, after: SampleJobStatus | None) -> tuple[Notice, ...]:
    """Compare the status to be written with the one before; a pass that changes nothing tells nothing."""
    before = snapshot.before
    now = find(after.conditions, names.CONDITION_SUCCEEDED) if after is not None else None
    was = find(before.conditions, names.CONDITION_SUCCEEDED)
    if after is None or now is None:
        return ()
    found = []
    if after.results and after.job_name != before.job_name:
        created = names.samplejob_reason("created", snapshot.job.spec.type)
        found.append(Notice(created, f"{len(after.results)} servers are told to begin"))
    if after.phase != before.phase and after.phase in (SampleJobPhase.SUCCEEDED, SampleJobPhase.FAILED):
        found.append(Notice(now.reason, now.message, warning=after.phase == SampleJobPhase.FAILED))
    elif now.reason in TOLD and (was is None or was.reason != now.reason):
        found.append(Notice(now.reason, now.message, warning=TOLD[now.reason]))
    return tuple(found)
