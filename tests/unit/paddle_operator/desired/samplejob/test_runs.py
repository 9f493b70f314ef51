"""The runs of a schedule, with a clock that the test moves: each happens once, and what is missed is told."""

import datetime as dt
import random
from dataclasses import replace
from zoneinfo import ZoneInfo

import msgspec
import pytest

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.samplejob import LONGEST_NAME, LONGEST_NAME_OF_SCHEDULE, SampleJobSpec
from paddle_operator.desired.samplejob.plan import plan
from paddle_operator.desired.samplejob.runs import run_name
from paddle_operator.desired.samplejob.snapshot import Run, Snapshot
from support.jobsnapshots import after, decoded
from support.samplesnapshots import NOON

HOURLY = {"schedule": "0 * * * *"}


def seen(now: dt.datetime = NOON, runs: tuple[Run, ...] = (), **spec: object) -> Snapshot:
    return Snapshot(decoded("warmup", None, **{**HOURLY, **spec}), now, runs=runs, zone=dt.UTC)


def run(name: str, phase: str = "Running", minutes_ago: int = 5) -> Run:
    when = NOON - dt.timedelta(minutes=minutes_ago)
    manifest: Manifest = {"metadata": {"name": name, "uid": name}}
    ended = when if phase in ("Succeeded", "Failed") else None
    return Run(manifest, name, name, phase, when, ended, begun=phase != "Pending")


def crowd(number: int, phase: str = "Pending") -> tuple[Run, ...]:
    return tuple(run(f"run-{place:03}", phase) for place in range(number))


def created(snapshot: Snapshot) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in plan(snapshot).create]


def told(snapshot: Snapshot) -> str:
    status = plan(snapshot).status
    assert status is not None
    return f"{status.conditions[0].reason}: {status.conditions[0].message}"


def test_a_run_is_a_job_of_its_own_without_the_schedule_and_goes_with_its_owner() -> None:
    snapshot = seen(timeZone="UTC", concurrencyPolicy="Forbid", backoffLimit=2, warmupOptions={"paths": ["train"]})
    (manifest,) = plan(snapshot).create
    assert manifest["metadata"]["name"] == f"work-{int(NOON.timestamp()) // 60}"
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch.paddlepaddle.org/v1alpha1", "SampleJob")
    assert manifest["spec"] == {
        "type": "warmup",
        "sampleSetRef": {"name": "imagenet"},
        "backoffLimit": 2,
        "warmupOptions": {"paths": ["train"], "strategyName": "sequence"},
    }
    assert msgspec.convert(manifest["spec"], SampleJobSpec).schedule is None


def test_the_status_says_which_runs_there_are_and_when_the_next_is() -> None:
    snapshot = seen(runs=(run("a"), run("b", "Succeeded", 7)))
    status = plan(snapshot).status
    assert status is not None
    cron = status.cron_job_status
    assert cron is not None
    assert ([found.name for found in cron.active], status.phase) == (["a"], "Running")
    assert (cron.last_schedule_time, cron.next_schedule_time) == (NOON, NOON + dt.timedelta(hours=1))
    assert cron.last_successful_time == NOON - dt.timedelta(minutes=7)


def test_of_very_many_runs_the_first_are_named_and_all_count() -> None:
    status = plan(seen(runs=crowd(150, "Running"), concurrencyPolicy="Forbid")).status
    assert status is not None
    assert status.cron_job_status is not None
    assert [found.name for found in status.cron_job_status.active] == [found.name for found in crowd(100)]
    assert status.phase == "Running"


def test_what_keeps_runs_from_starting_is_told_once_however_many_are_due() -> None:
    snapshot = seen(runs=crowd(100))
    assert [notice.reason for notice in plan(snapshot).notices] == ["TooManyRunsWait"]
    assert plan(after(snapshot, now=NOON + dt.timedelta(hours=3))).notices == ()


def test_a_second_look_starts_nothing_and_says_the_same() -> None:
    later = after(seen(), now=NOON + dt.timedelta(seconds=40))
    decision = plan(later)
    assert (decision.create, decision.delete, decision.notices) == ((), (), ())
    assert plan(after(later)).status == plan(later).status
    assert decision.look_again == 60.0


@pytest.mark.parametrize(
    ("spec", "runs", "starts", "says"),
    [
        ({}, (), True, "Scheduled: the next run is at 2026-01-01T13:00"),
        ({"suspend": True}, (), False, "Suspended: no runs are started"),
        ({}, (run("a"),), True, "Scheduled"),
        ({"concurrencyPolicy": "Forbid"}, (run("a"),), False, "JobAlreadyActive: the run of 2026-01-01T12:00"),
        ({"concurrencyPolicy": "Forbid"}, (run("a", "Failed"),), True, "Scheduled"),
        ({}, crowd(99), True, "Scheduled"),
        (
            {},
            crowd(100),
            False,
            "TooManyRunsWait: no run is started as long as 100 or more have not begun: see what run-000",
        ),
        ({"startingDeadlineSeconds": 0}, crowd(100), False, "TooManyRunsWait"),
        ({}, crowd(200, "Running"), True, "Scheduled"),
        ({}, crowd(200, "Failed"), True, "Scheduled"),
        ({"concurrencyPolicy": "Replace"}, crowd(100), True, "Scheduled"),
        ({"schedule": "59 11 * * *", "startingDeadlineSeconds": 60}, (), True, "Scheduled"),
        ({"schedule": "58 11 * * *", "startingDeadlineSeconds": 10**12}, (), True, "Scheduled"),
        ({"schedule": "58 11 * * *", "startingDeadlineSeconds": 60}, (), False, "MissSchedule: the run of"),
        ({"schedule": "0 0 30 2 *"}, (), False, "Invalid: the schedule '0 0 30 2 *' never comes"),
    ],
    ids=[
        *("due", "suspended", "allowed beside another", "forbidden beside another", "after another"),
        *("beside many", "beside too many", "late beside too many", "beside others that have begun", "after many"),
        *(
            "in the place of many",
            "late, but not too late",
            "never too late",
            "too late",
            "a schedule that never comes",
        ),
    ],
)
def test_what_is_due_is_started_or_it_is_said_why_not(
    spec: Manifest, runs: tuple[Run, ...], says: str, *, starts: bool
) -> None:
    snapshot = seen(runs=runs, **spec)
    assert (len(created(snapshot)) == 1) == starts
    assert told(snapshot).startswith(says)


def test_a_time_zone_that_there_is_not_is_told() -> None:
    named = replace(seen(timeZone="Mars/Base"), zone=None)
    assert told(named).startswith("UnknownTimeZone: there is no time zone Mars/Base")
    assert told(replace(seen(), zone=None)).startswith("UnknownTimeZone: the manager's TZ is no time zone: give")


def test_replacing_ends_what_goes_on_and_starts_the_new() -> None:
    decision = plan(seen(runs=(run("a"), run("b", "Succeeded")), concurrencyPolicy="Replace"))
    assert [manifest["metadata"]["name"] for manifest in decision.delete] == ["a"]
    assert len(decision.create) == 1


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
def test_a_run_that_was_made_and_not_written_down_is_neither_replaced_nor_waited_for(policy: str) -> None:
    made = run(run_name(decoded(), NOON))
    snapshot = seen(runs=(made,), concurrencyPolicy=policy)
    decision = plan(snapshot)
    assert ([manifest["metadata"]["name"] for manifest in decision.create], decision.delete) == ([made.name], ())
    assert told(snapshot).startswith("Scheduled")
    assert decision.status is not None
    assert decision.status.cron_job_status is not None
    assert decision.status.cron_job_status.last_schedule_time == NOON


def test_of_the_runs_that_ended_the_last_few_are_kept() -> None:
    ended = tuple(run(f"{phase}-{number}", phase, number) for phase in ("Succeeded", "Failed") for number in range(5))
    later = replace(after(seen()), runs=(*ended, run("active")))
    gone = [manifest["metadata"]["name"] for manifest in plan(later).delete]
    assert gone == ["Succeeded-4", "Succeeded-3", "Failed-4", "Failed-3", "Failed-2", "Failed-1"]


def test_no_run_goes_before_it_is_written_down_that_it_was() -> None:
    """Else a manager that is killed in between would start it again."""
    done = run(run_name(decoded(), NOON), "Succeeded")
    snapshot = seen(runs=(done,), successfulJobsHistoryLimit=0)
    assert (len(plan(snapshot).create), plan(snapshot).delete) == (1, ())
    assert plan(after(snapshot)).delete == (done.manifest,)


def test_a_run_can_be_named_and_held_however_long_its_owners_name_is() -> None:
    job = decoded()
    metadata = msgspec.structs.replace(job.metadata, name="j" * LONGEST_NAME_OF_SCHEDULE)
    far = dt.datetime(2150, 1, 1, tzinfo=dt.UTC)
    assert len(run_name(msgspec.structs.replace(job, metadata=metadata), far)) <= LONGEST_NAME


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("zone", ["Etc/UTC", "Europe/Berlin"])
@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
def test_whenever_managers_are_killed_each_run_happens_once_and_the_last_due_is_never_lost(
    seed: int, zone: str, policy: str
) -> None:
    """A manager may be away for hours, or die after it made a run and before it wrote that down."""
    chance = random.Random(seed)  # noqa: S311  # any moments will do
    now = dt.datetime(2026, 3, 28, 20, tzinfo=dt.UTC)
    snapshot = replace(seen(now, schedule="*/15 * * * *", concurrencyPolicy=policy), zone=ZoneInfo(zone))
    starts: list[str] = []
    store: dict[str, Run] = {}
    while now < dt.datetime(2026, 3, 29, 12, tzinfo=dt.UTC):
        snapshot = replace(snapshot, now=now, runs=tuple(store.values()))
        decision = plan(snapshot)
        for manifest in decision.create:
            name = manifest["metadata"]["name"]
            starts += [name] if name not in store else []
            store.setdefault(name, run(name))
        for manifest in decision.delete:
            store.pop(manifest["metadata"]["name"])
        if chance.random() > 0.3:
            snapshot = after(snapshot)
            last = snapshot.before.cron_job_status
            assert last is not None
            assert last.last_schedule_time is not None
            assert run_name(snapshot.job, last.last_schedule_time) in store
            waits = snapshot.before.conditions[0].reason == names.REASON_RUN_STILL_ACTIVE
            assert waits or now - last.last_schedule_time < dt.timedelta(minutes=15)
        for name in [name for name in store if chance.random() < 0.5]:
            store[name] = replace(store[name], phase="Succeeded", ended=now)
        now += dt.timedelta(seconds=chance.choice([1, 30, 60, 60, 600, 7200]))
    assert len(starts) == len(set(starts)) > 3
