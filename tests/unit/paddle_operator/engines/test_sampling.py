"""What each rank reads is what Paddle 3.0.0's DistributedBatchSampler gave for the same numbers."""

import hashlib
import json

import pytest

from paddle_operator.api.samplejob import SamplerOptions
from paddle_operator.engines.sampling import rank_order, shuffle


@pytest.mark.parametrize(
    ("samples", "options", "orders"),
    [
        (10, SamplerOptions(2, shuffle=True, epoch=0), [[6, 1, 1, 7], [4, 0, 9, 3], [2, 8, 0, 5]]),
        (10, SamplerOptions(2, shuffle=True, epoch=1), [[2, 3, 0, 7], [4, 0, 1, 9], [1, 6, 8, 5]]),
        (11, SamplerOptions(2), [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 0]]),
        (11, SamplerOptions(3, drop_last=True), [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        (2, SamplerOptions(1, shuffle=True, epoch=7), [[0], [1], [0]]),
        (0, SamplerOptions(1, shuffle=True), [[], [], []]),
    ],
    ids=["shuffled", "another epoch", "in order", "without the last batch", "fewer than ranks", "nothing at all"],
)
def test_a_rank_reads_what_paddles_sampler_gives_it(
    samples: int, options: SamplerOptions, orders: list[list[int]]
) -> None:
    assert [rank_order(samples, rank, 3, options).tolist() for rank in range(3)] == orders


def test_a_long_order_is_paddles_too() -> None:
    order = rank_order(20000, 1, 3, SamplerOptions(32, shuffle=True, epoch=5)).tolist()
    assert (len(order), order[:5]) == (6667, [1362, 8393, 9607, 16277, 3228])
    assert hashlib.sha256(json.dumps(order).encode()).hexdigest().startswith("837708620a52cd8c")


def test_a_shuffle_is_numpys() -> None:
    items = list(range(20))
    shuffle(items, 3)
    assert items == [14, 2, 1, 17, 4, 16, 6, 7, 15, 12, 9, 11, 19, 18, 13, 5, 0, 8, 3, 10]
