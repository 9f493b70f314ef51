"""The pieces of files as metadata has them: the same that the client tells, or none at all."""

import socket
import struct
from pathlib import Path
from typing import ClassVar

import pytest

from paddle_operator.engines.juicefs import metadata
from paddle_operator.engines.juicefs.blocks import Slice
from paddle_operator.engines.juicefs.metadata import WRITE, Metadata, length_of, visible
from paddle_operator.engines.juicefs.places import Found
from paddle_operator.engines.juicefs.redis import Address, Redis, RedisError, Reply, parse_address

ADDRESSES = {
    "redis://127.0.0.1": Address("127.0.0.1", 6379, 0),
    "redis://:p%40ss@redis.default:6380/3": Address("redis.default", 6380, 3, "", "p@ss"),
    "redis://me:hush@redis/1": Address("redis", 6379, 1, "me", "hush"),
    ":hush@redis:6380/1": Address("redis", 6380, 1, "", "hush"),
    "redis:6380": Address("redis", 6380, 0),
    "rediss://redis/1": None,
    "redis://a,b:26379/1": None,
    "redis://redis/1?read-timeout=3": None,
    "redis://redis/main": None,
    "redis://redis:port/1": None,
    "redis:///1": None,
    "sqlite3:///meta.db": None,
    "mysql://me:hush@(host:3306)/db": None,
    "": None,
}


@pytest.mark.parametrize(("url", "address"), ADDRESSES.items(), ids=ADDRESSES.keys())
def test_one_plain_redis_is_asked_and_nothing_else(url: str, address: Address | None) -> None:
    assert parse_address(url) == address


def test_a_password_is_not_in_what_is_printed() -> None:
    assert "hush" not in repr(parse_address("redis://me:hush@redis/1"))


def test_an_address_that_cannot_be_used_means_that_the_client_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "metaurl"
    for content in (
        b"redis://127.0.0.1:1/0",
        b"redis://" + b"x" * 70 + b".example.com/0",
        b"tikv://a",
        b"\xff\x00",
        b"",
    ):
        file.write_bytes(content)
        with metadata.opened(file, "uuid") as found:
            assert found is None
    with metadata.opened(tmp_path / "nothing", "uuid") as found:
        assert found is None
    with metadata.opened(None, "uuid") as found:
        assert found is None


def wrote(start: int, id_: int, length: int, offset: int = 0, size: int = 100) -> bytes:
    return WRITE.pack(start, id_, size, offset, length)


CHUNKS: dict[str, tuple[list[Reply], list[Slice]]] = {
    "nothing": ([], []),
    "one write": ([wrote(0, 7, 100)], [Slice(7, 100, 0, 100)]),
    "one after the other": ([wrote(100, 8, 100), wrote(0, 7, 100)], [Slice(7, 100, 0, 100), Slice(8, 100, 0, 100)]),
    "wholly covered": ([wrote(10, 7, 50), wrote(0, 8, 100)], [Slice(8, 100, 0, 100)]),
    "covered in the middle": (
        [wrote(0, 7, 100), wrote(40, 8, 20)],
        [Slice(7, 100, 0, 40), Slice(8, 100, 0, 20), Slice(7, 100, 60, 40)],
    ),
    "covered at its beginning": ([wrote(10, 7, 50, 5), wrote(0, 8, 30)], [Slice(8, 100, 0, 30), Slice(7, 100, 25, 30)]),
    "covered at its end": ([wrote(0, 7, 50, 5), wrote(30, 8, 50)], [Slice(7, 100, 5, 30), Slice(8, 100, 0, 50)]),
    "a hole over data": ([wrote(0, 7, 100), wrote(20, 0, 80)], [Slice(7, 100, 0, 20)]),
    "a hole at last": ([wrote(0, 0, 100)], []),
}


@pytest.mark.parametrize(("chunk", "pieces"), CHUNKS.values(), ids=CHUNKS.keys())
def test_later_writes_cover_earlier_ones(chunk: list[Reply], pieces: list[Slice]) -> None:
    assert visible(chunk) == pieces


@pytest.mark.parametrize("chunk", [None, 3, b"x", [b"too short"], [None]], ids=repr)
def test_what_is_no_chunk_is_refused(chunk: Reply) -> None:
    with pytest.raises(RedisError):
        visible(chunk)


def inode(type_: int, length: int) -> bytes:
    return struct.pack(">BHIIQIQIQIIQI", 0, type_ << 12 | 0o644, 0, 0, 1, 0, 1, 0, 1, 0, 1, length, 0)


def test_only_a_file_has_a_length() -> None:
    assert length_of(inode(1, 1 << 40)) == 1 << 40
    assert [length_of(found) for found in (inode(2, 4096), inode(3, 10), None, b"", 5)] == [None] * 5


class Told(Redis):
    """Answers by what a volume's metadata would be."""

    def __init__(self, **kept: Reply) -> None:
        self.kept = {"setting": b'{"UUID": "a-volume", "BlockSize": 4096}', **kept}

    def ask(self, questions: object) -> list[Reply]:
        assert isinstance(questions, list)
        return [
            [self.kept.get(key.decode()) for key in words[1:]]
            if words[0] == b"MGET"
            else self.kept.get(words[1].decode(), [])
            for words in questions
        ]


def test_all_chunks_of_a_large_file_are_read() -> None:
    told = Told(
        i5=inode(1, (130 << 20)), c5_0=[wrote(0, 7, 64)], c5_2=[wrote(0, 9, 2)], i6=inode(1, 3), c6_0=[wrote(0, 8, 3)]
    )
    assert Metadata(told).pieces([5, 6, 404]) == [
        [Slice(7, 100, 0, 64), Slice(9, 100, 0, 2)],
        [Slice(8, 100, 0, 3)],
        None,
    ]
    assert Metadata(told).pieces([]) == []
    assert (Metadata(told).volume, Metadata(told).block_size) == ("a-volume", 4 << 20)


def entry(type_: int, inode: int) -> bytes:
    return struct.pack(">BQ", type_, inode)


def test_a_directory_is_read_in_parts_and_has_files_and_directories_and_nothing_else() -> None:
    parts: list[Reply] = [
        [b"17", [b"b", entry(1, 8), b"link", entry(3, 9), b"sub", entry(2, 10)]],
        [b"0", [b"a\xff", entry(1, 7), b"b", entry(1, 8), b"pipe", entry(4, 11)]],
    ]

    class Parts(Told):
        asked: ClassVar[list[object]] = []

        def ask(self, questions: object) -> list[Reply]:
            assert isinstance(questions, list)
            if questions[0][0] != b"HSCAN":
                return super().ask(questions)
            self.asked.append(questions[0])
            return [parts[len(self.asked) - 1]]

    assert Metadata(Parts()).entries(Found("train", 5)) == (
        [Found("train/sub", 10)],
        [Found("train/a\udcff", 7), Found("train/b", 8)],
    )
    assert Parts.asked == [(b"HSCAN", b"d5", cursor, b"COUNT", b"10000") for cursor in (b"0", b"17")]


@pytest.mark.parametrize(
    "answer",
    [None, [], [b"0"], [b"0", None], [0, []], [b"0", [b"a", b"short"]], [b"0", [b"a", None]],
     [b"0", [b"../a", entry(1, 7)]]],
    ids=repr,
)  # fmt: skip
def test_what_is_no_directory_is_refused(answer: Reply) -> None:
    with pytest.raises(RedisError):
        Metadata(Told(d5=answer)).entries(Found("train", 5))


@pytest.mark.parametrize("setting", [None, b"", b"{}", b"[]", b'{"UUID": 5}', b'{"UUID": "a"}'], ids=repr)
def test_metadata_of_no_volume_are_refused(setting: Reply) -> None:
    with pytest.raises(RedisError):
        Metadata(Told(setting=setting))


def asked(answers: bytes, *questions: tuple[bytes, ...]) -> tuple[bytes, list[Reply]]:
    """Give what a Redis that says this is asked, and what is understood."""
    here, there = socket.socketpair()
    with here, there:
        there.sendall(answers)
        there.shutdown(socket.SHUT_WR)
        replies = Redis(here).ask(questions)
        return there.recv(1000), replies


def test_questions_are_written_as_redis_reads_them_and_answered_in_their_order() -> None:
    answers = b"$4\r\na\r\nb\r\n*2\r\n$1\r\nx\r\n$-1\r\n+OK\r\n:7\r\n"
    sent, replies = asked(answers, (b"GET", b"a\r\nb"), (b"LRANGE",), (b"SELECT",), (b"LLEN",))
    assert sent.startswith(b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*1\r\n$6\r\nLRANGE\r\n")
    assert replies == [b"a\r\nb", [b"x", None], b"OK", 7]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (b"-NOAUTH Authentication required.\r\n", "refuses: 'NOAUTH"),
        (b"HTTP/1.1 400 Bad Request\r\n", "no answer of a Redis"),
        (b"$100\r\nshort", "in the middle"),
        (b"", "in the middle"),
    ],
)
def test_what_redis_cannot_or_will_not_say_is_told_in_words(answers: bytes, why: str) -> None:
    with pytest.raises(RedisError, match=why):
        asked(answers, (b"GET", b"a"))
