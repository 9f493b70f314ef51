"""What a sync sums up at its end."""

import pytest

from paddle_operator.engines.juicefs.syncing import summed
from paddle_operator.engines.operations import Result

MIB = 1 << 20


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (
            "<INFO>: Found: 1000, copied: 990, deleted: 3, failed: 2, transferred: 2.5 MiB",
            Result(files=1000, bytes=int(2.5 * MIB), skipped=8, failed=2, deleted=3),
        ),
        (
            "Found: 101, excluded: 0 (0 B), skipped: 1 (5 B), copied: 100 (2.50 MiB), extra: 0 (0 B), failed: 0",
            Result(files=101, bytes=int(2.5 * MIB), skipped=1),
        ),
        ("Found: 5, copied: 0, deleted: 0, failed: 0, transferred: 0 B", Result(files=5, skipped=5)),
    ],
)
def test_both_versions_summaries_are_read(line: str, result: Result) -> None:
    assert summed(["Syncing from a to b", line, "goodbye"]) == result


def test_without_a_summary_there_is_no_result() -> None:
    assert summed(["panic"]) is None
