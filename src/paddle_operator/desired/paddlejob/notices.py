"""What is told of a job in events: each turn that it takes, once."""

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.paddlejob import CleanPodPolicy, PaddleJobPhase, PaddleJobStatus
from paddle_operator.desired.paddlejob.decision import Notice
from paddle_operator.desired.paddlejob.snapshot import Snapshot

TOLD = {
    PaddleJobPhase.RUNNING,
    PaddleJobPhase.SUSPENDED,
    PaddleJobPhase.RESTARTING,
    PaddleJobPhase.SCALING,
    PaddleJobPhase.COMPLETED,
    PaddleJobPhase.FAILED,
}
BAD = {PaddleJobPhase.RESTARTING, PaddleJobPhase.FAILED}
OLD_WORD = "cleanPodPolicy OnFailed is an old word for OnFailure: write OnFailure"


def notices(snapshot: Snapshot, after: PaddleJobStatus) -> tuple[Notice, ...]:
    """Compare the status to be written with the one before; a pass that changes nothing tells nothing."""
    found = []
    before, job = snapshot.before, snapshot.job
    if job.spec.clean_pod_policy is CleanPodPolicy.ON_FAILED and before.observed_generation != job.metadata.generation:
        found.append(Notice(names.REASON_OLD_WORD, OLD_WORD, warning=True))
    if after.phase != before.phase and after.phase in TOLD:
        why = find(after.conditions, names.CONDITION_RUNNING)
        found.append(Notice(after.phase, why.message if why else "", warning=after.phase in BAD))
    return tuple(found)
