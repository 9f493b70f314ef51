"""Which samples each rank of a training reads, and in which order: the rule of Paddle's DistributedBatchSampler."""

import random
from array import array
from collections.abc import Iterator, MutableSequence

from paddle_operator.api.samplejob import SamplerOptions

# The Mersenne Twister as NumPy's RandomState seeds it; Python's own seeds it in another way.
WORDS = 624
MULTIPLIER = 1812433253
WORD = 0xFFFFFFFF
STATE_VERSION = 3
# Four bytes for a number: as a list, those of ten million samples would take ten times as much.
NUMBERS = "I"


def rank_order(samples: int, rank: int, ranks: int, options: SamplerOptions) -> "array[int]":
    """Give the numbers of the samples that a rank reads in an epoch, batch after batch.

    All ranks read equally many: samples from the beginning are read twice to fill up. Whole rounds of batches are dealt
    out first, a batch to each rank; of what is left, each rank gets an equal part.
    """
    everybodys = epoch_order(samples, ranks, options)
    each_round = options.batch_size * ranks
    rest = len(everybodys) % each_round
    whole = len(everybodys) - rest
    mine = array(NUMBERS)
    for start in range(rank * options.batch_size, whole, each_round):
        mine += everybodys[start : start + options.batch_size]
    part = rest // ranks
    mine += everybodys[whole + rank * part : whole + (rank + 1) * part]
    return mine[: len(mine) - len(mine) % options.batch_size] if options.drop_last else mine


def epoch_order(samples: int, ranks: int, options: SamplerOptions) -> "array[int]":
    """Give the order of an epoch before it is dealt out to the ranks."""
    numbers = array(NUMBERS, range(samples))
    numbers.extend(number % samples for number in range(-samples % ranks))
    if options.shuffle:
        shuffle(numbers, options.epoch)
    return numbers


def shuffle(items: MutableSequence[int], seed: int) -> None:
    """Shuffle in place, as `numpy.random.RandomState(seed).shuffle` does with a list."""
    draws = words(seed)
    for last in range(len(items) - 1, 0, -1):
        mask = (1 << last.bit_length()) - 1
        chosen = next(draws) & mask
        while chosen > last:
            chosen = next(draws) & mask
        items[last], items[chosen] = items[chosen], items[last]


def words(seed: int) -> Iterator[int]:
    """Give what NumPy's generator draws after this seed, 32 bits at a time."""
    state = [seed & WORD]
    for number in range(1, WORDS):
        state.append((MULTIPLIER * (state[-1] ^ state[-1] >> 30) + number) & WORD)
    generator = random.Random()  # noqa: S311  # the same for all, on purpose
    generator.setstate((STATE_VERSION, (*state, WORDS), None))
    while True:
        yield generator.getrandbits(32)
