"""What is told of a job in events: each turn that it takes, once."""

from collections.abc import Iterator

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.training import TrainingJobSpec, TrainingJobStatus
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.kubedl.state import Phase
from paddle_operator.desired.telling import Notice

BAD = (Phase.RESTARTING, Phase.FAILED)


def ignored(spec: TrainingJobSpec) -> Iterator[str]:
    """Say what of the spec is taken and does nothing."""
    if spec.cron_policy is not None:
        yield "cronPolicy is not supported: the job runs once"
    if spec.model_version is not None:
        yield "modelVersion is not supported: no ModelVersion is made"
    if spec.scheduling_policy is not None and spec.scheduling_policy.priority is not None:
        yield "schedulingPolicy.priority is not supported: give priorityClassName, which names a PriorityClass"


def notices(snapshot: Snapshot, after: TrainingJobStatus) -> tuple[Notice, ...]:
    """Compare the status to be written with the one before; a pass that changes nothing tells nothing."""
    before, spec = snapshot.before, snapshot.job.spec
    is_new = before.observed_generation != snapshot.job.metadata.generation
    found = [Notice(names.REASON_NO_EFFECT, words, warning=True) for words in ignored(spec) if is_new]
    last, then = (status.conditions[-1] if status.conditions else None for status in (after, before))
    if last is not None and last.type in list(Phase) and (then is None or then.type != last.type):
        found.append(Notice(last.reason, last.message, warning=Phase(last.type) in BAD))
    told, known = (find(status.conditions, names.CONDITION_CACHE_READY) for status in (after, before))
    if told is not None and (known is None or known.reason != told.reason):
        bad = told.reason in (names.REASON_CACHE_FAILED, names.REASON_RUNS_WITHOUT_CACHE, names.REASON_CACHE_CONFLICT)
        found.append(Notice(told.reason, told.message, warning=bad))
    return tuple(found)
