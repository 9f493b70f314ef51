"""Conditions say since when, and that changes only with what they say."""

from datetime import UTC, datetime, timedelta

import pytest

from paddle_operator.api.conditions import condition, conditions_of, find, renewed, written

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def test_a_new_condition_begins_now() -> None:
    now = NOON + timedelta(microseconds=7)
    assert written(renewed((), [condition("Ready", "Starting", "2 of 3", holds=False)], 7, now)) == [
        {
            "type": "Ready", "status": "False", "reason": "Starting", "message": "2 of 3", "observedGeneration": 7,
            "lastTransitionTime": "2026-01-02T12:00:00Z",
        }
    ]  # fmt: skip


def test_other_words_do_not_change_the_time_and_another_status_does() -> None:
    first = renewed((), [condition("Ready", "Starting", "", holds=False)], 1, NOON)
    second = renewed(first, [condition("Ready", "StillStarting", "more", holds=False)], 1, LATER)
    assert (second[0].last_transition_time, second[0].reason) == (NOON, "StillStarting")
    third = renewed(second, [condition("Ready", "Started", "", holds=True)], 1, LATER)
    assert (third[0].last_transition_time, find(third, "Ready"), find(third, "Other")) == (LATER, third[0], None)


@pytest.mark.parametrize(
    "status", [None, "odd", {}, {"conditions": None}, {"conditions": 5}, {"conditions": [{"type": "Ready"}]}]
)
def test_what_nobody_can_read_counts_as_not_said(status: object) -> None:
    assert conditions_of({"status": status}) == ()


def test_what_was_written_is_read_again() -> None:
    said = renewed((), [condition("Ready", "Started", "all", holds=True)], 3, NOON)
    assert conditions_of({"status": {"conditions": written(said)}}) == said
