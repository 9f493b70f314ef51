"""When a schedule is due: cron's five fields, their short words, or every so often."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
PARTS = re.compile(r"(\d*\.?\d+|\d+\.)(ns|us|ms|s|m|h)", re.ASCII)
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
NUMBER_OF_FIELDS = 5
# Runs are named by their minute.
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(days=3660)


class ScheduleError(ValueError):
    """A schedule that never comes, or too often, and why."""


def latest(schedule: str, zone: tzinfo, since: datetime, now: datetime) -> datetime | None:
    """Give the last time, up to now, at which it was due; nothing if that is not later than `since`."""
    if schedule.lower().startswith(EVERY):
        period = parse_period(schedule)
        due = since + (now - since) // period * period
    else:
        due = _first(schedule, zone, now + timedelta(seconds=1), reverse=True)
        # In an hour that there is twice, the way back by the clock on the wall leads past a time of the first.
        while (later := _first(schedule, zone, due, reverse=False)) <= now:
            due = later
    return due if since < due <= now else None


def following(schedule: str, zone: tzinfo, since: datetime, now: datetime) -> datetime:
    """Give the next time at which it is due."""
    if schedule.lower().startswith(EVERY):
        period = parse_period(schedule)
        return since + ((now - since) // period + 1) * period
    return _first(schedule, zone, now, reverse=False)


def _first(schedule: str, zone: tzinfo, start: datetime, *, reverse: bool) -> datetime:
    """Go by the clock on the wall. An hour that there is twice counts once, and one that is left out is made up for."""
    try:
        return next(CronSim(plain(schedule), start.astimezone(zone), reverse=reverse)).astimezone(UTC)
    except (CronSimError, StopIteration) as error:
        why = str(error) or "there is no such day"
        raise ScheduleError(f"the schedule {schedule!a} never comes: {why}") from error


def plain(schedule: str) -> str:
    """Write it so that days count as they do in Kubernetes.

    If both are given, a day of the month or a day of the week will do; a star is none given, but a star with a step is.
    """
    fields = WORDS.get(schedule.lower(), schedule).replace("?", "*").split()
    if len(fields) == NUMBER_OF_FIELDS:
        fields[2], fields[4] = _days(fields[2], "1", "31"), _days(fields[4], "0", "6")
    return " ".join(fields)


def _days(field: str, first: str, last: str) -> str:
    terms = [term.partition("/") for term in field.split(",")]
    if any(days == "*" and step in {"", "1"} for days, _, step in terms):
        return "*"
    return ",".join(f"{_range(days, first, last) if step else days}{slash}{step}" for days, slash, step in terms)


def _range(days: str, first: str, last: str) -> str:
    """Give the days that a step is about: from a single one, all that follow it."""
    return f"{first}-{last}" if days == "*" else days if "-" in days else f"{days}-{last}"


def parse_period(schedule: str) -> timedelta:
    parts = PARTS.findall(schedule[len(EVERY) :].lower())
    seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if not SHORTEST.total_seconds() <= seconds <= LONGEST.total_seconds():
        raise ScheduleError(f"the schedule {schedule!a} must be from 1 minute to 10 years")
    return timedelta(seconds=int(seconds))
