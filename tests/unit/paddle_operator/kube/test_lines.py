"""A stream is cut at the byte 10 and nowhere else."""

import pytest

from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.watch import Lines


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"one\ntwo\n"], [b"one", b"two"]),
        ([b"on", b"e\nt", b"wo", b"\n"], [b"one", b"two"]),
        ([b"one\n\n\ntwo\n"], [b"one", b"two"]),
        ([b"one\nunfinished"], [b"one"]),
        (["a\x85b\u2028c\r\x0bd\n".encode()], ["a\x85b\u2028c\r\x0bd".encode()]),
        (["\u2028".encode()[:1], "\u2028".encode()[1:] + b"\n"], ["\u2028".encode()]),
        ([b""], []),
    ],
)
def test_lines(chunks: list[bytes], expected: list[bytes]) -> None:
    lines = Lines()
    assert [line for chunk in chunks for line in lines.feed(chunk)] == expected


def test_delays_double_up_to_the_longest_and_differ() -> None:
    backoff = Backoff(first=1.0, longest=10.0)
    for failures, whole in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (5000, 10.0)]:
        delays = {backoff.after(failures) for _ in range(50)}
        assert all(whole / 2 <= delay <= whole for delay in delays)
        assert len(delays) > 1
