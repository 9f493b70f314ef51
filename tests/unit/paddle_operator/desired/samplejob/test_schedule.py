"""When a schedule is due: by the clock on the wall of its time zone, forwards and backwards."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import pytest

from paddle_operator.desired.samplejob.schedule import ScheduleError, following, latest

LONG_AGO = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2026-{text}:00+00:00")


def times(schedule: str, zone: str, start: str, number: int) -> list[str]:
    found, now = [], moment(start)
    for _ in range(number):
        now = following(schedule, ZoneInfo(zone), LONG_AGO, now)
        found.append(f"{now:%m-%dT%H:%M}")
    return found


@pytest.mark.parametrize(
    ("schedule", "zone", "start", "due"),
    [
        ("30 2 * * *", "UTC", "01-01T02:30", ["01-02T02:30", "01-03T02:30"]),
        ("30 2 * * mon-fri", "Asia/Shanghai", "01-01T00:00", ["01-01T18:30", "01-04T18:30"]),
        ("@daily", "America/New_York", "01-01T00:00", ["01-01T05:00", "01-02T05:00"]),
        ("@HOURLY", "Asia/Kolkata", "01-01T00:00", ["01-01T00:30", "01-01T01:30"]),
        ("0 0 ? * ?", "UTC", "01-01T00:00", ["01-02T00:00"]),
        ("30 2 * * *", "Europe/Berlin", "03-28T12:00", ["03-29T01:00", "03-30T00:30"]),
        ("30 2 * * *", "Europe/Berlin", "10-24T12:00", ["10-25T00:30", "10-26T01:30"]),
        ("0 * * * *", "Europe/Berlin", "10-24T23:30", ["10-25T00:00", "10-25T01:00", "10-25T02:00"]),
        ("0 * * * *", "Europe/Berlin", "03-29T00:30", ["03-29T01:00", "03-29T02:00"]),
        ("0 0 29 2 *", "UTC", "01-01T00:00", ["02-29T00:00"]),
    ],
    ids=[
        *("every night", "nights of Shanghai", "a short word", "a zone of half an hour", "question marks"),
        *("an hour that is left out is made up for", "an hour that there is twice counts once"),
        *("every hour of a long day", "every hour of a short day", "a leap year"),
    ],
)
def test_it_is_due_by_the_clock_on_the_wall(schedule: str, zone: str, start: str, due: list[str]) -> None:
    assert times(schedule, zone, start, len(due)) == due


@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        ("0 12 10 * fri", ["01-02", "01-09", "01-10", "01-16"]),
        ("0 12 * * fri", ["01-02", "01-09"]),
        ("0 12 10 * *", ["01-10", "02-10"]),
        ("0 12 */10 * fri", ["01-01", "01-02", "01-09", "01-11"]),
        ("0 12 ?/10 * fri", ["01-01", "01-02", "01-09", "01-11"]),
        ("0 12 */1 * fri", ["01-02", "01-09"]),
        ("0 12 5 * */3", ["01-03", "01-04", "01-05", "01-07"]),
        ("0 12 5 * *", ["01-05", "02-05"]),
        ("0 12 5,* * fri", ["01-02", "01-09"]),
        ("0 12 5 * 1,?", ["01-05", "02-05"]),
        ("0 12 * * 5/2", ["01-02", "01-09"]),
        ("0 12 * * fri/2", ["01-02", "01-09"]),
    ],
)
def test_a_day_of_the_month_or_of_the_week_counts_as_in_kubernetes(schedule: str, due: list[str]) -> None:
    """A star with a step is no star: if each of the two names days, either will do."""
    assert [found[:5] for found in times(schedule, "UTC", "01-01T00:00", len(due))] == due


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"])
@pytest.mark.parametrize("schedule", ["30 2 * * *", "*/20 * * * *", "15 1-3 * * *", "0 0 1 * *"])
def test_the_last_time_is_found_from_any_moment_up_to_the_next(zone: str, schedule: str) -> None:
    chance, now = random.Random(7), moment("03-26T00:00")  # noqa: S311  # any moments will do
    for _ in range(40):
        due = following(schedule, ZoneInfo(zone), LONG_AGO, now)
        coming = following(schedule, ZoneInfo(zone), LONG_AGO, due)
        later = due + chance.random() * (coming - due - dt.timedelta(seconds=1))
        assert latest(schedule, ZoneInfo(zone), LONG_AGO, later.replace(microsecond=0)) == due
        assert latest(schedule, ZoneInfo(zone), due, later.replace(microsecond=0)) is None
        now = due + chance.random() * dt.timedelta(days=12)


def test_so_often_counts_from_the_last_time() -> None:
    since, zone = moment("01-01T00:10"), dt.UTC
    assert latest("@every 1h30m", zone, since, moment("01-01T01:39")) is None
    assert latest("@every 1h30m", zone, since, moment("01-01T04:00")) == moment("01-01T03:10")
    assert following("@every 1h30m", zone, since, moment("01-01T04:00")) == moment("01-01T04:40")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("0 0 30 2 *", "the schedule '0 0 30 2 *' never comes"),
        ("0 0 * * fri-mon", "never comes"),
        ("@every 1s", "must be from 1 minute to 10 years"),
        ("@every 99999999h", "must be from 1 minute to 10 years"),
    ],
)
def test_what_never_comes_or_too_often_is_refused(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message.replace("*", r"\*")):
        following(schedule, dt.UTC, LONG_AGO, moment("01-01T00:00"))
