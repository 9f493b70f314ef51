"""Which files a warm-up is about, and which of them a partition takes."""

import functools
import itertools
import os
import tracemalloc
from pathlib import Path

import pytest

from paddle_operator.api.samplejob import SamplerOptions, WarmupStrategy
from paddle_operator.engines.juicefs import places, selection
from paddle_operator.engines.juicefs.places import Found, PlaceError
from paddle_operator.engines.juicefs.selection import Roll
from paddle_operator.engines.operations import Share, WarmupOrder

FILES = [Found(f"train/{number}.jpg") for number in range(10)]


def shares(scratch: Path, strategy: WarmupStrategy, sampler: SamplerOptions | None = None) -> list[list[Found]]:
    return [list(selection.shared(iter(FILES), Share(number, 3, strategy, sampler), scratch)) for number in range(3)]


def selected(root: Path, order: WarmupOrder, roll: Roll | None = None) -> list[Found]:
    inside = functools.partial(places.entries, root)
    return list(selection.selected(root, order, inside, roll or Roll(), root.parent))


@pytest.mark.parametrize("strategy", [WarmupStrategy.SEQUENCE, WarmupStrategy.RANDOM])
def test_all_partitions_together_take_each_file_once(tmp_path: Path, strategy: WarmupStrategy) -> None:
    assert sorted(itertools.chain(*shares(tmp_path, strategy))) == FILES


def test_by_the_sampler_a_partition_takes_what_its_rank_reads_in_that_order_and_once(tmp_path: Path) -> None:
    options = SamplerOptions(2, shuffle=True, epoch=0)
    taken = shares(tmp_path, WarmupStrategy.SAMPLER, options)
    assert taken == [[FILES[number] for number in part] for part in ([6, 1, 7], [4, 0, 9, 3], [2, 8, 0, 5])]
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_on_disk_comes_back_as_it_was(tmp_path: Path) -> None:
    files = [Found("a"), Found("数据/b c", 7), Found("\udcff\n", (1 << 64) - 1)]
    everything = Share(0, 1, WarmupStrategy.SAMPLER, SamplerOptions())
    assert list(selection.shared(iter(files), everything, tmp_path)) == files


def test_a_share_by_the_sampler_takes_few_bytes_of_memory_for_each_file(tmp_path: Path) -> None:
    count = 20_000
    files = (Found(f"train/n01514859/n01514859_{number}.JPEG", number) for number in range(count))
    everything = Share(0, 1, WarmupStrategy.SAMPLER, SamplerOptions(64, shuffle=True))
    tracemalloc.start()
    try:
        assert sum(1 for _ in selection.shared(files, everything, tmp_path)) == count
        assert tracemalloc.get_traced_memory()[1] < 40 * count
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Share(3, 3), "a share's partition must be"),
        (Share(0, 1, WarmupStrategy.SAMPLER), "the strategy sampler needs sampler"),
        (Share(0, 1, WarmupStrategy.RANDOM, SamplerOptions()), "the strategy sampler needs sampler"),
        (Share(0, 1, WarmupStrategy.SAMPLER, SamplerOptions(0)), "batchSize must be 1 or more"),
        (Share(0, 1, WarmupStrategy.SAMPLER, SamplerOptions(1, epoch=-1)), "its epoch from 0 up to 4294967295"),
    ],
)
def test_a_share_that_is_none_is_refused(given: Share, message: str) -> None:
    with pytest.raises(PlaceError, match=message):
        selection.check(WarmupOrder(share=given))


def test_a_list_names_files_by_their_place_below_the_root_or_as_they_are_mounted(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"b.jpg\r\n\n{tmp_path}/a b.jpg\n")
    order = WarmupOrder(file="list")
    assert [found.path for found in selected(tmp_path, order)] == ["b.jpg", "a b.jpg"]


@pytest.mark.parametrize("name", ["link", "out/secret", "pipe", "directory", "nothing"])
def test_a_list_is_a_file_of_the_data_set_and_nothing_else(tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "directory").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("redis://:hush@somewhere\n")
    (root / "link").symlink_to(outside / "secret")
    (root / "out").symlink_to(outside)
    os.mkfifo(root / "pipe")
    with pytest.raises(PlaceError, match=f"there is no file '{name}' in the data set"):
        selected(root, WarmupOrder(file=name))


@pytest.mark.parametrize("strategy", [WarmupStrategy.SEQUENCE, WarmupStrategy.SAMPLER])
def test_partitions_that_deal_from_the_same_files_say_so_and_one_that_saw_others_says_something_else(
    tmp_path: Path, strategy: WarmupStrategy
) -> None:
    sampler = SamplerOptions() if strategy == WarmupStrategy.SAMPLER else None

    def dealt_from(partition: int) -> str:
        roll = Roll()
        selected(tmp_path, WarmupOrder(share=Share(partition, 2, strategy, sampler)), roll)
        return str(roll)

    for name in ("a", "bc"):
        (tmp_path / name).touch()
    first = dealt_from(0)
    assert first.startswith("2-")
    assert dealt_from(1) == first
    (tmp_path / "a").rename(tmp_path / "ab")
    (tmp_path / "bc").rename(tmp_path / "c")
    assert dealt_from(1) != first


def test_where_a_file_that_comes_changes_no_other_files_share_nobody_counts_them(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    roll = Roll()
    selected(tmp_path, WarmupOrder(share=Share(0, 2, WarmupStrategy.RANDOM)), roll)
    selected(tmp_path, WarmupOrder(share=Share(0, 1)), roll)
    assert roll.files == 0
