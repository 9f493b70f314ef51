"""The data set that a job waits for before its pods are made."""

from datetime import datetime, timedelta

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.meta import Condition
from paddle_operator.api.paddlejob import PaddleJobPhase
from paddle_operator.api.sampleset import SampleSetPhase
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State


def data_condition(snapshot: Snapshot) -> Condition | None:
    """Say whether the data is there; nothing for a job that asks for none."""
    reference = snapshot.job.spec.sample_set_ref
    if reference is None:
        return None
    if snapshot.sample_set is None:
        return _missing(f"there is no SampleSet {reference.name} in namespace {snapshot.job.metadata.namespace}")
    phase = (snapshot.sample_set.status.phase if snapshot.sample_set.status else "") or "not begun"
    enough = [SampleSetPhase.READY.value]
    if snapshot.before.start_time is not None:  # a job that has run goes on while a cache node is away
        enough.append(SampleSetPhase.PARTIAL_READY.value)
    if phase not in enough:
        return _missing(f"SampleSet {reference.name} is not Ready yet, it is {phase}")
    message = f"SampleSet {reference.name} is {phase}"
    return condition(names.CONDITION_DATA_READY, names.REASON_DATA_READY, message, holds=True)


def _missing(message: str) -> Condition:
    return condition(names.CONDITION_DATA_READY, names.REASON_WAITING_FOR_DATA, message, holds=False)


def wait_state(snapshot: Snapshot, data: Condition) -> State:
    deadline = wait_deadline(snapshot)
    reference = snapshot.job.spec.sample_set_ref
    if reference is None or deadline is None or deadline > snapshot.now:
        return State(PaddleJobPhase.PENDING, names.REASON_WAITING_FOR_DATA, data.message)
    message = f"{data.message}; it was waited for {reference.timeout_seconds} seconds"
    return State(PaddleJobPhase.FAILED, names.REASON_DATA_TIMEOUT, message)


def wait_deadline(snapshot: Snapshot) -> datetime | None:
    """Count from the time at which the wait began, which only the condition remembers."""
    reference = snapshot.job.spec.sample_set_ref
    if reference is None or reference.timeout_seconds is None:
        return None
    known = find(snapshot.before.conditions, names.CONDITION_DATA_READY)
    began = None if known is None or known.status != "False" else known.last_transition_time
    return (began or snapshot.now) + timedelta(seconds=reference.timeout_seconds)
