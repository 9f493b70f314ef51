"""The status of a job whose parts have much to say: it fits into an object, and who failed is heard first."""

import msgspec
import pytest

from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase
from paddle_operator.api.sampleset import MOST_PARTITIONS
from paddle_operator.desired.samplejob.partitions import LONGEST_WORDS, Part
from paddle_operator.desired.samplejob.status import FEW_WORDS, MOST_WORDS, bounded, status_of, with_results
from support.jobsnapshots import seen
from support.samplesnapshots import NOON

LARGEST = (1 << 63) - 1
MEBIBYTE = 1 << 20


def result(partition: int, phase: Part = Part.FAILED, message: str = "x" * LONGEST_WORDS) -> PartitionResult:
    return PartitionResult(f"imagenet-runtime-{partition}", partition, phase.value, message)


def lengths(*results: PartitionResult) -> list[int]:
    return [len(found.message) for found in bounded(results)]


@pytest.mark.parametrize("letter", ["\U0001d11e", "\x01"], ids=["of four bytes", "escaped with six"])
def test_the_status_of_as_many_partitions_as_there_may_be_fits_however_much_they_say(letter: str) -> None:
    worst = PartitionResult(
        pod="p" * 63,
        partition=MOST_PARTITIONS,
        phase=Part.FAILED.value,
        message=letter * LONGEST_WORDS,
        missing=(letter * 5000,) * 100,
        dealt_from=f"{LARGEST}-ffffffff",
        away_since=NOON,
    )
    figures = [name for name in worst.__struct_fields__ if name.endswith(("_files", "_bytes", "_blocks", "_second"))]
    worst = msgspec.structs.replace(worst, **dict.fromkeys(figures, LARGEST))
    told = "; ".join([worst.message] * 3)
    status = with_results(status_of(seen(), SampleJobPhase.FAILED, "Failed", told), [worst] * MOST_PARTITIONS)
    assert (len(figures), len(status.results)) == (9, MOST_PARTITIONS)
    assert len(msgspec.json.encode(status)) < MEBIBYTE


def test_few_words_are_never_cut() -> None:
    assert lengths(*map(result, range(100))) == [LONGEST_WORDS] * 100


def test_who_failed_is_quoted_in_full_before_the_others_and_each_has_a_few_words() -> None:
    well = [result(number, Part.SUCCEEDED) for number in range(500)]
    wrong = [result(number) for number in range(500, 1000)]
    words = lengths(*well, *wrong)
    assert words[500:520] == [LONGEST_WORDS] * 20
    assert set(words[:500]) == {min(words)} == {FEW_WORDS}
    assert sum(words) == MOST_WORDS


def test_what_was_cut_is_not_cut_again() -> None:
    parts = [result(number, message="x" * (number % LONGEST_WORDS)) for number in range(1000)]
    once = bounded(parts)
    assert once != tuple(parts)
    assert bounded(once) == once


def test_a_set_of_an_older_definition_with_more_partitions_is_cut_short_as_well() -> None:
    words = lengths(*map(result, range(10_000)))
    assert (words[0], words[-1], sum(words)) == (FEW_WORDS, 0, MOST_WORDS)
