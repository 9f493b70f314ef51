"""A job with a schedule: a run, which is a job of its own, whenever one is due, and the runs that are kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from paddle_operator.api import names
from paddle_operator.api.conditions import condition
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.references import ObjectReference
from paddle_operator.api.samplejob import (
    ConcurrencyPolicy,
    CronJobStatus,
    SampleJob,
    SampleJobPhase,
    SampleJobStatus,
)
from paddle_operator.desired.moments import after
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.samplejob.decision import Decision
from paddle_operator.desired.samplejob.schedule import ScheduleError, following, latest
from paddle_operator.desired.samplejob.snapshot import Run, Snapshot
from paddle_operator.desired.samplejob.status import with_conditions
from paddle_operator.desired.telling import Notice, Refusal

KEPT_SUCCEEDED, KEPT_FAILED = 3, 1
MOST_NAMED = 100
# Who cannot begin is joined by no more: a set that is never ready would be given runs for ever.
MOST_WAITING = 100
# The clock may be moved: what is due is looked for once a minute at least.
PAUSE = timedelta(minutes=1)
OF_SCHEDULE = (
    *("schedule", "timeZone", "suspend", "concurrencyPolicy", "startingDeadlineSeconds"),
    *("successfulJobsHistoryLimit", "failedJobsHistoryLimit"),
)


@dataclass(frozen=True)
class Turn:
    """What is to be done about the run that is due, if one is; `told` says why nothing is, or what comes next."""

    told: Refusal
    run: datetime | None = None
    next: datetime | None = None


def scheduled(snapshot: Snapshot) -> Decision:
    turn = _turn(snapshot)
    replaces = snapshot.job.spec.concurrency_policy is ConcurrencyPolicy.REPLACE
    create = (run_of(snapshot.job, turn.run),) if turn.run is not None else ()
    # A run that is gone must be known to have been: none goes before the status says when the last one was.
    delete = _old(snapshot) if turn.run is None else _others(snapshot, turn.run) if replaces else []
    going = tuple(run.manifest for run in delete if "deletionTimestamp" not in run.manifest["metadata"])
    status = _status(snapshot, turn)
    notices = _notices(snapshot, turn, create)
    decision = Decision(status, create=create, delete=going, notices=notices)
    return decision.looked_at_again(snapshot.now, turn.next, snapshot.now + PAUSE)


def _turn(snapshot: Snapshot) -> Turn:
    spec = snapshot.job.spec
    if snapshot.zone is None:
        whose = f"there is no time zone {spec.time_zone}" if spec.time_zone else "the manager's TZ is no time zone"
        message = f"{whose}: give a name in timeZone such as Asia/Shanghai or Etc/UTC"
        return Turn(Refusal(names.REASON_UNKNOWN_TIME_ZONE, message))
    if spec.suspend:
        return Turn(Refusal(names.REASON_SUSPENDED, "no runs are started: suspend is true"))
    before = (snapshot.before.cron_job_status or CronJobStatus()).last_schedule_time
    since = max(before or snapshot.created, snapshot.created)
    try:
        due = latest(spec.schedule or "", snapshot.zone, since, snapshot.now)
        coming = following(spec.schedule or "", snapshot.zone, since, snapshot.now)
    except ScheduleError as error:
        return Turn(Refusal(names.REASON_INVALID, str(error)))
    return _due(snapshot, due, coming)


def _due(snapshot: Snapshot, due: datetime | None, coming: datetime) -> Turn:
    spec = snapshot.job.spec
    patience = spec.starting_deadline_seconds
    if due is not None and (why := _crowded(snapshot, due)):
        return Turn(Refusal(names.REASON_RUNS_WAIT, why), next=coming)
    if due is not None and patience is not None and after(due, patience) < snapshot.now:
        message = f"the run of {due.isoformat()} was left out: it was more than {patience} s late"
        return Turn(Refusal(names.REASON_RUN_MISSED, message), next=coming)
    others = _others(snapshot, due) if due is not None else []
    if due is not None and others and spec.concurrency_policy is ConcurrencyPolicy.FORBID:
        message = f"the run of {due.isoformat()} waits: {others[0].name} goes on, and concurrencyPolicy is Forbid"
        return Turn(Refusal(names.REASON_RUN_STILL_ACTIVE, message), next=coming)
    return Turn(Refusal(names.REASON_SCHEDULED, f"the next run is at {coming.isoformat()}"), due, coming)


def _crowded(snapshot: Snapshot, due: datetime) -> str:
    """Say why there are runs enough, unless they would be replaced."""
    waiting = [run for run in _others(snapshot, due) if not run.begun]
    if len(waiting) < MOST_WAITING or snapshot.job.spec.concurrency_policy is ConcurrencyPolicy.REPLACE:
        return ""
    return f"no run is started as long as {MOST_WAITING} or more have not begun: see what {waiting[0].name} waits for"


def _others(snapshot: Snapshot, due: datetime) -> list[Run]:
    """Give the runs that go on beside the one that is due, which may be there already: who made it may have died."""
    name = run_name(snapshot.job, due)
    return [run for run in snapshot.runs if not run.is_over and run.name != name]


def run_name(job: SampleJob, due: datetime) -> str:
    """Name the run by its minute: whoever makes it, and however often, it is made once."""
    return f"{job.metadata.name}-{int(due.timestamp()) // 60}"


def run_of(job: SampleJob, due: datetime) -> Manifest:
    whole: Manifest = msgspec.json.decode(msgspec.json.encode(job.spec))
    spec = {field: value for field, value in whole.items() if field not in OF_SCHEDULE}
    metadata = owned(job, run_name(job, due), {names.LABEL_SAMPLEJOB: job.metadata.name})
    definition = job.definition
    return {
        "apiVersion": definition.api_version,
        "kind": definition.kind,
        "metadata": {**metadata, "annotations": {names.ANNOTATION_SCHEDULED: due.isoformat()}},
        "spec": spec,
    }


def _old(snapshot: Snapshot) -> list[Run]:
    """Give the runs that have ended and are not to be kept."""
    spec = snapshot.job.spec
    limits = {
        SampleJobPhase.SUCCEEDED: (spec.successful_jobs_history_limit, KEPT_SUCCEEDED),
        SampleJobPhase.FAILED: (spec.failed_jobs_history_limit, KEPT_FAILED),
    }
    found = []
    for phase, (limit, usual) in limits.items():
        ended = sorted((run for run in snapshot.runs if run.phase == phase), key=lambda run: (run.created, run.name))
        found += ended[: max(len(ended) - (usual if limit is None else limit), 0)]
    return found


def _status(snapshot: Snapshot, turn: Turn) -> SampleJobStatus:
    before = snapshot.before.cron_job_status or CronJobStatus()
    active = [run for run in snapshot.runs if not run.is_over]
    succeeded = [run.ended for run in snapshot.runs if run.phase == SampleJobPhase.SUCCEEDED and run.ended]
    cron = CronJobStatus(
        active=tuple(_reference(snapshot.job, run) for run in active[:MOST_NAMED]),
        last_schedule_time=turn.run or before.last_schedule_time,
        last_successful_time=max([*succeeded, *filter(None, [before.last_successful_time])], default=None),
        next_schedule_time=turn.next,
    )
    told = condition(
        names.CONDITION_SCHEDULED,
        turn.told.reason,
        turn.told.message,
        holds=turn.told.reason == names.REASON_SCHEDULED,
    )
    phase = SampleJobPhase.RUNNING if active or turn.run else SampleJobPhase.NONE
    return replace(
        snapshot.before,
        phase=phase.value,
        cron_job_status=cron,
        observed_generation=snapshot.job.metadata.generation,
        conditions=with_conditions(snapshot, [told]),
    )


def _reference(job: SampleJob, run: Run) -> ObjectReference:
    definition = job.definition
    return ObjectReference(definition.api_version, definition.kind, run.name, job.metadata.namespace, run.uid)


def _notices(snapshot: Snapshot, turn: Turn, create: tuple[Manifest, ...]) -> tuple[Notice, ...]:
    """Tell of each run that is started, and once of what keeps one from it."""
    started = tuple(Notice(names.REASON_RUN_STARTED, f"created run {run['metadata']['name']}") for run in create)
    known = {found.message for found in snapshot.before.conditions}
    if turn.told.reason == names.REASON_SCHEDULED or turn.told.message in known:
        return started
    return (*started, Notice(turn.told.reason, turn.told.message, warning=turn.told.reason != names.REASON_SUSPENDED))
