"""Numbers of pods, written short: 0-3,7."""

from collections.abc import Iterable

LONGEST = 9


def written_short(numbers: Iterable[int]) -> str:
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def read(text: str, most: int) -> frozenset[int]:
    """Give the numbers below `most`; from what is out of order on, it was not written by us and does not count."""
    found: set[int] = set()
    end = -1
    for word in text.split(",") if text else ():
        first, last = _number(word.partition("-")[0]), _number(word.rpartition("-")[2])
        if not end < first <= last:
            break
        found.update(range(first, min(last + 1, most)))
        end = last
    return frozenset(found)


def _number(word: str) -> int:
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= LONGEST else -1
