"""Sizes as people read them, and what they are summed up from."""

import pytest

from paddle_operator.desired.sampleset.figures import in_words
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.runtimes import Word
from support.samplesnapshots import after, decoded, seen, server, word


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (9, "9 B"),
        (200, "200 B"),
        (4096, "4.0 KiB"),
        (1023, "1023 B"),
        (10 * 1024, "10 KiB"),
        (int(9.96 * 1024), "10 KiB"),
        (58 * 1024**2, "58 MiB"),
        (int(4.2 * 1024**3), "4.2 GiB"),
        (3 * 1024**6, "3.0 EiB"),
        (5000 * 1024**6, "5000 EiB"),
    ],
)
def test_a_size_is_written_as_the_original_operator_wrote_it(number: int, words: str) -> None:
    assert in_words(number) == words


def test_a_large_set_has_figures_too() -> None:
    """The original had none when counting took longer than half a minute."""
    big = Word(data_bytes=10**15, data_files=128_660_000, cached_bytes=10**13, capacity_bytes=10**14, free_bytes=10**13)
    status = plan(seen(None, server(word=big))).status
    assert status is not None
    assert status.cache_status is not None
    found = status.cache_status
    assert (found.total_size, found.total_files, found.cached_size) == ("910 TiB", "128,660,000", "9.1 TiB")
    assert (found.disk_usage_rate, found.total_bytes, found.file_count) == ("90.0%", 10**15, 128_660_000)


def test_an_empty_set_has_figures_too() -> None:
    """The original took 0 B for a failure."""
    status = plan(seen(None, server(word=Word()))).status
    assert status is not None
    assert status.cache_status is not None
    assert (status.cache_status.total_size, status.cache_status.disk_usage_rate) == ("0 B", "0.0%")


def test_more_cached_than_there_is_is_told_as_it_is() -> None:
    """The original hid that several nodes hold the same files."""
    servers = [server(number, word=word()) for number in range(4)]
    status = plan(seen(decoded(partitions=4), *servers)).status
    assert status is not None
    assert status.cache_status is not None
    assert (status.cache_status.total_bytes, status.cache_status.cached_bytes) == (300, 400)


def test_a_silent_server_keeps_its_last_figures_and_the_others_are_told_of() -> None:
    """In the original, one server that did not answer took all figures away."""
    both = seen(decoded(partitions=2), server(0, word=word()), server(1, word=word()))
    status = plan(after(both, runtimes={0: server(0, word=word()), 1: server(1)})).status
    assert status is not None
    assert status.cache_status is not None
    assert status.cache_status.cached_bytes == 200


def test_nothing_is_said_of_what_was_never_heard() -> None:
    status = plan(seen(None, server())).status
    assert status is not None
    assert status.cache_status is None
