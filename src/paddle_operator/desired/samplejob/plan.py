"""From what was observed of a SampleJob to what is to be written: the one door to this package."""

from dataclasses import replace

from paddle_operator.api.samplejob import SampleJobPhase
from paddle_operator.desired.samplejob.decision import Decision
from paddle_operator.desired.samplejob.ending import after_the_end, end
from paddle_operator.desired.samplejob.notices import notices
from paddle_operator.desired.samplejob.orders import job_name
from paddle_operator.desired.samplejob.runs import scheduled
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.samplejob.working import begin, go_on


def plan(snapshot: Snapshot) -> Decision:
    decision = _decide(snapshot)
    return replace(decision, notices=(*decision.notices, *notices(snapshot, decision.status)))


def _decide(snapshot: Snapshot) -> Decision:
    if snapshot.job.metadata.deletion_timestamp is not None:
        return end(snapshot)
    if snapshot.job.spec.schedule is not None:
        return scheduled(snapshot)
    before = snapshot.before
    if before.phase == SampleJobPhase.SUCCEEDED or (before.phase == SampleJobPhase.FAILED and _is_current(snapshot)):
        return after_the_end(snapshot)
    return go_on(snapshot) if _is_current(snapshot) else begin(snapshot)


def _is_current(snapshot: Snapshot) -> bool:
    """Tell whether the status is about the work that is asked for now, and not about other options."""
    return snapshot.before.job_name == job_name(snapshot.job)
