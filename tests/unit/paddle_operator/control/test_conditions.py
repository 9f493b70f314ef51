"""Conditions say since when, and that changes only with what they say."""

from datetime import UTC, datetime, timedelta

from paddle_operator.control.conditions import Condition, Truth, find, holds, with_condition

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def test_a_new_condition_begins_now() -> None:
    found = with_condition([], Condition("Ready", Truth.FALSE, "Starting", "2 of 3", 7), NOON)
    assert found == [
        {
            "type": "Ready", "status": "False", "reason": "Starting", "message": "2 of 3", "observedGeneration": 7,
            "lastTransitionTime": "2026-01-02T12:00:00Z",
        }
    ]  # fmt: skip


def test_other_words_do_not_change_the_time_and_another_status_does() -> None:
    first = with_condition([{"type": "Other"}], Condition("Ready", Truth.FALSE, "Starting"), NOON)
    second = with_condition(first, Condition("Ready", Truth.FALSE, "StillStarting", "more"), LATER)
    assert (second[1]["lastTransitionTime"], second[1]["reason"]) == ("2026-01-02T12:00:00Z", "StillStarting")
    third = with_condition(second, Condition("Ready", Truth.TRUE, "Started"), LATER)
    assert third[1]["lastTransitionTime"] == "2026-01-02T13:00:00Z"
    assert [condition["type"] for condition in third] == ["Other", "Ready"]
    assert (holds(second, "Ready"), holds(third, "Ready"), holds(third, "Other"), find(third, "No")) == (
        False, True, False, None,
    )  # fmt: skip
