"""Moments that are a number of seconds away, however many somebody has asked for."""

from datetime import datetime, timedelta

# Longer than anybody waits, and still a date.
LONGEST_SECONDS = 10**9


def after(moment: datetime, seconds: int) -> datetime:
    return moment + timedelta(seconds=max(0, min(seconds, LONGEST_SECONDS)))
