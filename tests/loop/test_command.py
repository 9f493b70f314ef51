"""A command in a container: its input goes in, its output comes out, and how it ended is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import command, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.command import Channel, Ended, Limits
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed

POD = Key("shop", "web")
Socket = web.WebSocketResponse
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"


async def say(socket: Socket, channel: Channel, data: bytes) -> None:
    await socket.send_bytes(bytes([channel]) + data)


async def end(socket: Socket, status: Manifest) -> None:
    await say(socket, Channel.STATUS, json.dumps(status).encode())


def failed(code: str) -> Manifest:
    cause = {"reason": "ExitCode", "message": code}
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}


async def echo(socket: Socket) -> None:
    """Print what is read, as long as it is not said that no more comes."""
    while (data := await socket.receive_bytes()) != bytes([Channel.END, Channel.STDIN]):
        await say(socket, Channel.STDOUT, data[1:])
    await end(socket, {"status": "Success"})


async def hello(socket: Socket) -> None:
    await say(socket, Channel.STDOUT, b"")
    await say(socket, Channel.STDOUT, b"hel")
    await say(socket, Channel.STDERR, b"oh \xff")
    await say(socket, Channel.STDOUT, b"lo")
    await socket.send_str("no output")
    await socket.send_bytes(b"\x09of a channel to come")
    await end(socket, failed("3"))


@dataclass
class Pod:
    """What the other side does, and what it was asked."""

    act: Callable[[Socket], Awaitable[None]] = hello
    protocols: tuple[str, ...] = (V5, V4)
    refusal: Manifest | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    spoken: list[str | None] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += request.query.items()
        if self.refusal is not None:
            return web.json_response(self.refusal, status=self.refusal["code"])
        socket = web.WebSocketResponse(protocols=self.protocols)
        await socket.prepare(request)
        self.spoken.append(socket.ws_protocol)
        await self.act(socket)
        await socket.close()
        return socket


@pytest.fixture
async def pod() -> AsyncIterator[Pod]:
    served = Pod()
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/shop/pods/web/exec", served.handle)
    async with TestServer(app) as server:
        served.url = str(server.make_url("")).rstrip("/")
        yield served


@pytest.fixture
async def client(pod: Pod) -> AsyncIterator[Client]:
    async with Client(Config(pod.url, Fixed("secret")), "tester") as opened:
        yield opened


async def test_both_outputs_and_the_exit_code_are_given(pod: Pod, client: Client) -> None:
    assert await command.run(client, POD, ["say", "a b", "&c=d"], container="main") == Ended(3, b"hello", b"oh \xff")
    streams = [("stdin", "false"), ("stdout", "true"), ("stderr", "true")]
    words = [("command", "say"), ("command", "a b"), ("command", "&c=d")]
    assert (pod.asked, pod.spoken) == ([*words, ("container", "main"), *streams], [V5])


@pytest.mark.parametrize("size", [0, 1, 200_000])
async def test_the_input_arrives_whole_and_ends(pod: Pod, client: Client, size: int) -> None:
    pod.act = echo
    stdin = bytes(number % 251 for number in range(size))
    assert await command.run(client, POD, ["cat"], stdin=stdin) == Ended(0, stdin, b"")


async def test_a_command_that_does_not_read_its_input_ends_all_the_same(client: Client) -> None:
    assert (await command.run(client, POD, ["true"], stdin=b"x" * 10_000)).code == 3


async def test_a_server_of_the_older_protocol_is_understood(pod: Pod, client: Client) -> None:
    pod.protocols = (V4,)
    assert (await command.run(client, POD, ["say"])).stdout == b"hello"
    assert pod.spoken == [V4]


async def test_input_is_not_given_to_a_server_that_cannot_be_told_its_end(pod: Pod, client: Client) -> None:
    pod.protocols = (V4,)
    with pytest.raises(errors.UnreachableError, match=r"speaks none of \['v5.channel.k8s.io'\]"):
        await command.run(client, POD, ["cat"], stdin=b"")


async def test_of_too_much_output_the_beginning_is_kept_and_that_is_said(pod: Pod, client: Client) -> None:
    async def chatter(socket: Socket) -> None:
        for _ in range(100):
            await say(socket, Channel.STDOUT, b"0123456789")
        await say(socket, Channel.STDERR, b"exactly 10")
        await end(socket, {"status": "Success"})

    pod.act = chatter
    assert await command.run(client, POD, ["yes"], limits=Limits(output=10)) == Ended(
        0, b"0123456789", b"exactly 10", cut=True
    )


async def test_a_command_that_takes_too_long_is_left(pod: Pod, client: Client) -> None:
    left = asyncio.Event()

    async def sleep(socket: Socket) -> None:
        await socket.receive()
        left.set()

    pod.act = sleep
    with pytest.raises(errors.UnreachableError, match="sleep in pod shop/web did not end in 0 s"):
        await command.run(client, POD, ["sleep", "secret"], limits=Limits(seconds=0.1))
    await asyncio.wait_for(left.wait(), 5)


@pytest.mark.parametrize(
    ("code", "reason", "words", "expected"),
    [
        (404, "NotFound", 'pods "web" not found', errors.NotFoundError),
        (403, "Forbidden", 'pods "web" is forbidden', errors.ForbiddenError),
        (400, "BadRequest", "container third is not valid for pod web", errors.BadRequestError),
        (400, "BadRequest", "cannot exec into a container in a completed pod", errors.NotRunningError),
    ],
)
async def test_what_is_refused_at_once_is_told_by_its_reason(
    pod: Pod, client: Client, code: int, reason: str, words: str, expected: type[errors.ApiError]
) -> None:
    pod.refusal = {"kind": "Status", "code": code, "reason": reason, "message": words}
    with pytest.raises(expected, match=words):
        await command.run(client, POD, ["say"])


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (
            b'{"status":"Failure","code":500,"reason":"InternalError","message":"no such program"}',
            errors.ServerError,
            "no such program",
        ),
        (
            b'{"status":"Failure","code":500,"reason":"InternalError","message":"container not found (\\"main\\")"}',
            errors.NotRunningError,
            "container not found",
        ),
        (json.dumps(failed("many")).encode(), errors.ApiError, "NonZeroExitCode"),
        (b'{"status":"Failure","details":null}', errors.ApiError, "Unknown"),
        (b"killed \xff", errors.ApiError, "killed"),
        (b'["odd"]', errors.ApiError, "odd"),
    ],
    ids=["not run", "no container", "no number", "no details", "no JSON", "no object"],
)
async def test_what_did_not_run_is_an_error_with_the_servers_words(
    pod: Pod, client: Client, status: bytes, expected: type[errors.ApiError], words: str
) -> None:
    async def fail(socket: Socket) -> None:
        await say(socket, Channel.STATUS, status)

    pod.act = fail
    with pytest.raises(expected, match=words):
        await command.run(client, POD, ["say"])


async def test_a_connection_that_breaks_before_the_end_is_told(pod: Pod, client: Client) -> None:
    async def vanish(socket: Socket) -> None:
        await say(socket, Channel.STDOUT, b"half")

    pod.act = vanish
    with pytest.raises(errors.UnreachableError, match="ended before the command did"):
        await command.run(client, POD, ["say"])


async def test_a_command_is_never_sent_twice() -> None:
    asked: list[str] = []

    async def abort(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    app = web.Application()
    app.router.add_get("/{path:.*}", abort)
    async with TestServer(app) as server, Client(Config(str(server.make_url("")), Fixed()), "tester") as client:
        with pytest.raises(errors.UnreachableError, match="Server disconnected"):
            await command.run(client, POD, ["say"])
    assert len(asked) == 1


async def test_nothing_at_all_is_not_run(client: Client) -> None:
    with pytest.raises(ValueError, match="there is nothing to run in shop/web"):
        await command.run(client, POD, [])
