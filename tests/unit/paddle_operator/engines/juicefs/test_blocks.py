"""The blocks of files, as JuiceFS names them."""

import pytest

from paddle_operator.engines.juicefs.blocks import Block, Pieces, Slice, blocks_of, first_blocks, parse_pieces

MIB = 1 << 20
OLD = " inode: 23\n files:\t1\n dirs:\t0\n length:\t9000000\n size:\t9003008\n chunks:\n\t0:\t21\t9000000\t0\t9000000\n"
NEW = " length: 8.58 MiB (9000000 Bytes)\n   path: /m\n chunks:\n\t0:\t9\t8999990\t0\t8999990\n\t0:\t0\t10\t0\t10\n"


def test_the_pieces_of_a_file_are_read_from_both_versions_without_holes() -> None:
    assert parse_pieces(OLD) == Pieces([Slice(21, 9_000_000, 0, 9_000_000)], is_all=True)
    assert parse_pieces(NEW) == Pieces([Slice(9, 8_999_990, 0, 8_999_990)], is_all=True)


def test_an_empty_file_has_no_pieces_and_is_whole() -> None:
    assert parse_pieces(" inode: 2\n length:\t0\n chunks:\n") == Pieces([], is_all=True)
    assert parse_pieces(" inode: 2\n length: 0 Bytes\n chunks:\n") == Pieces([], is_all=True)


def test_a_file_of_which_pieces_lack_is_not_all_there() -> None:
    told = OLD.replace("length:\t9000000", "length:\t99000000")
    assert parse_pieces(told) == Pieces([Slice(21, 9_000_000, 0, 9_000_000)], is_all=False)
    assert parse_pieces(" inode: 2\n length:\t5\n chunks:\n") == Pieces([], is_all=False)


@pytest.mark.parametrize("text", ["", "no such file or directory", "input/output error", " inode: 2\n length:\t5\n"])
def test_an_error_is_no_file_without_pieces(text: str) -> None:
    assert parse_pieces(text) is None


def test_a_path_that_looks_like_a_piece_is_none() -> None:
    told = " length:\t8\n  path: /a\n\t0:\t1\t2\t3\t4\n chunks:\n\t0:\t7\t8\t0\t8\n"
    assert parse_pieces(told) == Pieces([Slice(7, 8, 0, 8)], is_all=True)


@pytest.mark.parametrize(
    ("piece", "blocks"),
    [
        (Slice(21, 9_000_000, 0, 9_000_000), ["21_0_4194304", "21_1_4194304", "21_2_611392"]),
        (Slice(21, 9_000_000, 5 * MIB, 10), ["21_1_4194304"]),
        (Slice(21, 9_000_000, 4 * MIB - 1, 2), ["21_0_4194304", "21_1_4194304"]),
        (Slice(21, 8 * MIB, 0, 8 * MIB), ["21_0_4194304", "21_1_4194304"]),
        (Slice(21, 100, 0, 100), ["21_0_100"]),
        (Slice(21, 100, 0, 0), []),
    ],
)
def test_a_piece_needs_the_blocks_that_it_touches(piece: Slice, blocks: list[str]) -> None:
    assert [block.name for block in blocks_of(piece, 4 * MIB)] == blocks


def test_a_block_is_where_juicefs_puts_it() -> None:
    assert Block(1_234_567, 0, 5).paths == ("chunks/1/1234/1234567_0_5", "chunks/87/1/1234567_0_5")


@pytest.mark.parametrize(("size", "whole"), [(100_000, True), (100_016, True), (99_999, False), (0, False)])
def test_a_block_is_whole_with_or_without_its_checksums(size: int, whole: bool) -> None:  # noqa: FBT001 a table's column
    assert Block(1, 0, 100_000).is_whole(size) is whole


def test_a_first_block_is_as_large_as_blocks_can_be() -> None:
    sizes = [block.size for block in first_blocks(Slice(1, 3 * MIB, 0, 1))]
    assert sizes == [3 * MIB, 2 * MIB, MIB, MIB // 2, MIB // 4, MIB // 8, MIB // 16]
    assert first_blocks(Slice(1, 1000, 0, 1)) == [Block(1, 0, 1000)]
