"""Rates and sizes as people write them."""

import pytest

from localkube import errors, faults, sizes


@pytest.mark.parametrize(
    ("rate", "burst"), [("50mbit", 62_500), ("8kbit", 16_000), ("1.5gbit", 1_875_000), ("100000bit", 16_000)]
)
def test_a_bucket_holds_ten_milliseconds_and_at_least_some_packets(rate: str, burst: int) -> None:
    assert faults.burst_of(rate) == burst


@pytest.mark.parametrize("rate", ["", "50", "mbit", "50mb", "50 mbit", "-1mbit", "0bit", "7kbit", "1e9bit", "50mbit\n"])
def test_what_is_no_rate_is_refused(rate: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="is not a rate: write 50mbit"):
        faults.burst_of(rate)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("512", 512), ("1K", 1024), ("1.5G", 1610612736), ("20g", 20 << 30), ("4MiB", 4 << 20)]
)
def test_sizes_are_read_in_powers_of_1024(text: str, size: int) -> None:
    assert sizes.parse(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "1P", "1,5G", "lots"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="is not a size"):
        sizes.parse(text)
