"""What is told of a job in events: each turn that it takes, once."""

from collections.abc import Iterator

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.paddlejob import CleanPodPolicy, PaddleJobPhase, PaddleJobSpec, PaddleJobStatus, Role
from paddle_operator.desired.paddlejob.roles import is_elastic, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.telling import Notice
from paddle_operator.desired.training.template import ALWAYS

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
NO_END = "restartPolicy Always would start workers again that have ended well, without end: it counts as OnFailure"
NO_RANGE = "requests and limits of a role are the range of an elastic job: they mean nothing without elastic"


def notices(snapshot: Snapshot, after: PaddleJobStatus) -> tuple[Notice, ...]:
    """Compare the status to be written with the one before; a pass that changes nothing tells nothing."""
    before = snapshot.before
    is_new = before.observed_generation != snapshot.job.metadata.generation
    found = list(_warnings(snapshot.job.spec)) if is_new else []
    if after.phase != before.phase and after.phase in TOLD:
        why = find(after.conditions, names.CONDITION_RUNNING)
        found.append(Notice(after.phase, why.message if why else "", warning=after.phase in BAD))
    return tuple(found)


def _warnings(spec: PaddleJobSpec) -> Iterator[Notice]:
    """Warn about what is not wrong, but will hardly do what was meant."""
    if spec.clean_pod_policy is CleanPodPolicy.ON_FAILED:
        yield Notice(names.REASON_OLD_WORD, OLD_WORD, warning=True)
    if not is_elastic(spec) and any(role.requests or role.limits for role in roles_of(spec).values()):
        yield Notice(names.REASON_NO_EFFECT, NO_RANGE, warning=True)
    if any(_is_endless(role) for role in roles_of(spec).values()):
        yield Notice(names.REASON_NO_EFFECT, NO_END, warning=True)


def _is_endless(role: Role) -> bool:
    """Tell whether its pods shall always be started again; a template may be none at all."""
    spec = role.template.get("spec")
    return isinstance(spec, dict) and spec.get("restartPolicy") == ALWAYS
