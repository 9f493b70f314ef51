"""Batches of a listing: each is one list for JuiceFS, and together they are all files."""

import pytest

from paddle_operator.engines.juicefs.expectation import Expected
from paddle_operator.engines.juicefs.fetching import LARGEST_LIST, handed_over
from paddle_operator.engines.juicefs.listing import listful


@pytest.mark.parametrize("length", [1, 20, 1000])
def test_a_batch_fills_one_list_for_the_client(length: int) -> None:
    paths = [b"%0*d" % (length, number) for number in range(100_000 if length < 100 else 1000)]
    records = iter([Expected(path, []) for path in paths])
    batches = list(iter(lambda: [record.path for record in listful(records)], []))
    assert [path for batch in batches for path in batch] == paths
    for batch in batches:
        assert len(list(handed_over(batch))) == 1
    for batch in batches[:-1]:
        assert sum(len(path) + 2 for path in batch) > 0.98 * LARGEST_LIST


def test_a_path_that_is_longer_than_others_can_be_is_in_a_batch_too() -> None:
    records = iter([Expected(b"x" * 4000, []) for _ in range(100)])
    batches = list(iter(lambda: listful(records), []))
    assert sum(len(batch) for batch in batches) == 100
