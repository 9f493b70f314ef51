"""Cache directories: what is in them is counted by names, and only blocks are removed."""

import os
import zlib
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import cachefiles
from paddle_operator.engines.juicefs.blocks import Block
from paddle_operator.engines.juicefs.cachefiles import Holding, Inventory

UUID = "c843c158-7596-493e-9dea-59db11cb4cbc"
OTHER = "00000000-0000-4000-8000-000000000000"
LONG_AGO = 1_000_000_000


def block(cache: Path, uuid: str, name: str, size: int = 5) -> Path:
    path = cache / uuid / "raw/chunks/0/0" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_only_a_volume_s_own_directory_is_its_cache(tmp_path: Path) -> None:
    block(tmp_path, UUID, "1_0_5")
    block(tmp_path, OTHER, "1_0_5")
    block(tmp_path, "not-a-volume", "1_0_5")
    (tmp_path / "11111111-1111-4111-8111-111111111111").symlink_to(tmp_path / UUID)
    assert list(cachefiles.raw_trees((tmp_path,), UUID)) == [tmp_path / UUID / "raw"]
    assert len(list(cachefiles.raw_trees((tmp_path, tmp_path / "nothing")))) == 2


@pytest.mark.parametrize(("size", "present"), [(5, True), (9, True), (4, False), (0, False), (10, False)])
def test_a_block_is_present_only_whole(tmp_path: Path, size: int, present: bool) -> None:  # noqa: FBT001 a table's column
    block(tmp_path, UUID, "1_0_5", size)
    assert cachefiles.is_present((tmp_path / UUID / "raw",), Block(1, 0, 5)) is present
    assert not cachefiles.is_present((tmp_path / UUID / "raw",), Block(2, 0, 5))


def test_a_cut_block_is_discarded_and_a_whole_one_kept(tmp_path: Path) -> None:
    cut, whole = block(tmp_path, UUID, "1_0_5", 3), block(tmp_path, UUID, "2_0_5", 9)
    for number in (1, 2, 3):
        cachefiles.discard_cut((tmp_path / UUID / "raw",), Block(number, 0, 5))
    assert (cut.exists(), whole.exists()) == (False, True)


def test_the_inventory_follows_what_comes_and_goes(tmp_path: Path) -> None:
    inventory, trees = Inventory(), (tmp_path / UUID / "raw",)
    assert inventory.count(trees) == Holding()
    first = block(tmp_path, UUID, "1_0_5")
    block(tmp_path, UUID, "1_1_7")
    block(tmp_path, UUID, "1_1_7.tmp")
    assert inventory.count(trees) == Holding(2, 12)
    first.unlink()
    assert inventory.count(trees) == Holding(1, 7)


def test_the_inventory_does_not_read_again_what_did_not_change(tmp_path: Path) -> None:
    inventory, trees = Inventory(), (tmp_path / UUID / "raw",)
    leaf = block(tmp_path, UUID, "1_0_5").parent
    os.utime(leaf, (LONG_AGO, LONG_AGO))
    assert inventory.count(trees) == Holding(1, 5)
    block(tmp_path, UUID, "2_0_5")
    os.utime(leaf, (LONG_AGO, LONG_AGO))
    assert inventory.count(trees) == Holding(1, 5)


def test_removal_takes_blocks_and_follows_no_link(tmp_path: Path) -> None:
    path = block(tmp_path / "cache", UUID, "1_0_5")
    staged = tmp_path / "cache" / UUID / "rawstaging/chunks/0/0/9_0_5"
    precious = tmp_path / "outside/precious"
    for file in (staged, precious):
        file.parent.mkdir(parents=True)
        file.write_text("x")
    (path.parent / "2_0_5").symlink_to(precious)
    (path.parents[1] / "1").symlink_to(precious.parent)
    gone = list(cachefiles.remove_blocks(tmp_path / "cache" / UUID / "raw", lambda: False))
    assert sum((leaf.blocks for leaf in gone), 0) == 2
    assert not path.exists()
    assert precious.exists()
    assert staged.exists()


def test_removal_leaves_no_empty_directories_of_blocks(tmp_path: Path) -> None:
    path = block(tmp_path, UUID, "1_0_5")
    kept = path.parents[1] / "1" / "not-a-file"
    kept.mkdir(parents=True)
    block(tmp_path / "other", UUID, "1_0_5")
    for cache in (tmp_path, tmp_path / "other"):
        assert list(cachefiles.remove_blocks(cache / UUID / "raw", lambda: False)) != []
    assert (path.parent.exists(), kept.exists()) == (False, True)
    assert list((tmp_path / "other" / UUID / "raw/chunks").iterdir()) == []


def test_removal_stops_when_it_is_cancelled(tmp_path: Path) -> None:
    path = block(tmp_path, UUID, "1_0_5")
    assert list(cachefiles.remove_blocks(tmp_path / UUID / "raw", lambda: True)) == []
    assert path.exists()


def test_a_disk_with_two_directories_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = cachefiles.disks((tmp_path / "a",)), cachefiles.disks((tmp_path / "a", tmp_path / "b"))
    assert one[0] == two[0] > 0
    assert cachefiles.disks((tmp_path / "nothing",)) == (0, 0)


def test_caches_keep_their_identity_until_one_of_them_is_lost(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert cachefiles.identity((first, second)) == ""
    first.mkdir()
    second.mkdir()
    identity = cachefiles.identity((first, second))
    assert len(identity) == 12
    assert cachefiles.identity((first, second)) == identity
    (second / cachefiles.MARK).unlink()
    assert cachefiles.identity((first, second)) not in ("", identity)


def test_a_cache_that_is_given_up_loses_its_blocks_and_its_name_and_nothing_else(tmp_path: Path) -> None:
    cache, beside = tmp_path / "ours/cache", tmp_path / "theirs/cache"
    gone, other = block(cache, UUID, "1_0_5"), block(beside, OTHER, "1_0_5")
    unsaved = cache / UUID / "rawstaging/chunks/0/0/2_0_5"
    unsaved.parent.mkdir(parents=True)
    unsaved.write_bytes(b"12345")
    before = cachefiles.identity((cache,))
    assert cachefiles.give_up((cache, tmp_path / "nothing")) == Holding(1, 5)
    assert (gone.exists(), unsaved.exists(), other.exists()) == (False, True, True)
    assert cachefiles.give_up((cache,)) == Holding()
    assert cachefiles.identity((cache,)) not in ("", before)


@pytest.mark.parametrize("size", [1, 15, 100_000, 300_000, cachefiles.READ_SIZE])
def test_a_checksum_is_the_usual_crc_32_of_the_block_alone(tmp_path: Path, size: int) -> None:
    """Ledgers have it from any version."""
    content = os.urandom(size)
    (tmp_path / "block").write_bytes(content + b"more")
    buffer = memoryview(bytearray(cachefiles.READ_SIZE))
    assert cachefiles.checksum(str(tmp_path / "block"), size, buffer) == zlib.crc32(content)
    assert cachefiles.checksum(str(tmp_path / "block"), size + 5, buffer) is None
