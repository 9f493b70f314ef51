"""Answers are read however they come, and a connection is used again only when nothing is left on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from paddle_operator.kube import conversation as conversations
from paddle_operator.kube import errors, pool
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed
from paddle_operator.kube.request import Request
from support.eventually import eventually

ASKED = Request("GET", "/asked")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Gives each request the answer that is made for it, and remembers what it was asked on how many connections."""

    def __init__(self, *answers: bytes | Answer) -> None:
        self.answers = list(answers)
        self.asked: list[bytes] = []
        self.connections = 0
        self.ended = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.answers.pop(0)
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    await answer(writer)
        self.ended += 1
        writer.transport.abort()


@contextlib.asynccontextmanager
async def talking(server: Server) -> AsyncIterator[Client]:
    async with await asyncio.start_server(server.serve, "127.0.0.1") as listening:
        port = listening.sockets[0].getsockname()[1]
        async with Client(Config(f"http://127.0.0.1:{port}/prefix", Fixed("secret")), "tester", timeout=10) as client:
            yield client
        await eventually(lambda: server.ended == server.connections)


async def in_bits(writer: asyncio.StreamWriter) -> None:
    for byte in OK:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0)


async def to_the_end_of_the_connection(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.0 200 OK\r\n\r\n{}")
    writer.close()


WAYS: dict[str, bytes | Answer] = {
    "at once": OK,
    "byte by byte": in_bits,
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    "until the connection ends": to_the_end_of_the_connection,
    "after a word in between": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
}


@pytest.mark.parametrize("answer", WAYS.values(), ids=WAYS)
async def test_an_answer_is_read_however_it_comes(answer: bytes | Answer) -> None:
    server = Server(answer, OK)
    async with talking(server) as client:
        assert [await client.send(ASKED), await client.send(ASKED)] == [{}, {}]
    assert server.connections == (2 if answer is to_the_end_of_the_connection else 1)


async def test_a_request_says_what_it_must_and_nobody_can_put_a_line_into_it() -> None:
    server = Server(OK, OK)
    async with talking(server) as client:
        await client.send(Request("POST", "/a%0Ab", {"x": "1\r\nEvil: yes", "y": ["a b", "ü"]}, b""))
    lines = server.asked[0].decode().split("\r\n")
    assert lines[0] == "POST /prefix/a%0Ab?x=1%0D%0AEvil%3A+yes&y=a+b&y=%C3%BC HTTP/1.1"
    assert {"Authorization: Bearer secret", "User-Agent: tester", "Content-Length: 0"} < set(lines)
    async with Client(Config("http://127.0.0.1:1", Fixed("a\r\nEvil: yes")), "tester") as client:
        with pytest.raises(errors.UnreachableError, match="the header Authorization has a letter"):
            await client.send(ASKED)


async def and_ends(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
    writer.close()


async def and_stays_silent(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0)


BROKEN: dict[str, tuple[bytes | Answer, str]] = {
    "half of an answer": (and_ends, "the server closed the connection"),
    "something else": (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
    "no answer": (and_stays_silent, "no answer in time"),
    "a second answer to a first question, and no first": (b"\x00" * 100, "the answer is not HTTP"),
}


@pytest.mark.parametrize(("answer", "words"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_is_told_and_its_connection_is_not_used_again(answer: bytes | Answer, words: str) -> None:
    server = Server(answer, OK)
    async with talking(server) as client:
        client._timeout = 0.2 if answer is and_stays_silent else 10
        with pytest.raises(errors.UnreachableError, match=words):
            await client.send(ASKED)
        client._timeout = 10
        assert await client.send(ASKED) == {}
    assert server.connections == 2


SPENT = {
    "the server says that it closes": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    "more comes than was asked for": OK + OK,
    "a word out of turn comes": OK + b"HTTP/1.1 408 Request Timeout\r\n\r\n",
}


@pytest.mark.parametrize("answer", SPENT.values(), ids=SPENT)
async def test_a_connection_is_not_used_again_when(answer: bytes) -> None:
    server = Server(answer, OK)
    async with talking(server) as client:
        await client.send(ASKED)
        await eventually(lambda: server.ended == 1)
        assert await client.send(ASKED) == {}
    assert server.connections == 2


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(OK, OK)
    async with talking(server) as client:
        await client.send(ASKED)
        monkeypatch.setattr(pool, "KEPT", -1.0)
        await client.send(ASKED)
    assert server.connections == 2


async def test_who_gives_up_waiting_leaves_no_answer_to_the_next() -> None:
    server = Server(and_stays_silent, OK)
    async with talking(server) as client:
        asking = asyncio.create_task(client.send(ASKED))
        await eventually(lambda: server.asked)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await client.send(ASKED) == {}
        await eventually(lambda: server.ended == 1)


async def test_requests_at_once_have_a_connection_each_and_share_them_later() -> None:
    server = Server(*[OK] * 20)
    async with talking(server) as client:
        for _ in range(2):
            await asyncio.gather(*(client.send(ASKED) for _ in range(10)))
    assert server.connections == 10


async def test_a_server_that_sends_more_than_is_read_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MOST_UNREAD", 1000)
    sent = asyncio.Event()
    size = 40_000_000  # more than all buffers on the way

    async def much(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // 100_000):
            writer.write(bytes(100_000))
            await writer.drain()
        sent.set()

    async with talking(Server(much)) as client, client.stream(ASKED, 30) as pieces:
        first = await anext(pieces)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not sent.is_set()
        assert len(first) + sum([len(piece) async for piece in pieces]) == size
    assert sent.is_set()
