"""Numbers of pods, written short and read with care."""

import pytest

from paddle_operator.desired.training.numbers import read, written_short


@pytest.mark.parametrize(
    ("numbers", "text"),
    [(set(), ""), ({3}, "3"), ({0, 1}, "0-1"), ({7, 0, 2, 1, 3}, "0-3,7"), ({0, 2, 4}, "0,2,4")],
)
def test_numbers_come_back_as_they_were_written(numbers: set[int], text: str) -> None:
    assert written_short(numbers) == text
    assert read(text, most=100) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("0-2,x,5", {0, 1, 2}, id="a word"),
        pytest.param("5,3", {5}, id="not in order"),
        pytest.param("3-1", set(), id="backwards"),
        pytest.param("-1", set(), id="below nothing"),
        pytest.param("8-999999999", {8, 9}, id="more than there are"),
        pytest.param("1" * 5000, set(), id="longer than any number"),
        pytest.param("\u0663", set(), id="digits of another script"),
        pytest.param(",".join(["0-9"] * 1000), set(range(10)), id="the same again and again"),
    ],
)
def test_what_we_did_not_write_does_not_count(text: str, numbers: set[int]) -> None:
    assert read(text, most=10) == numbers
