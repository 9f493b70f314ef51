"""A command's input, output and end over a WebSocket, in the channels that kubectl and our own client speak."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import msgspec
from aiohttp import web

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.refusals import RefusedError
from paddle_operator.kube.command import PIECE, WITH_END, WITHOUT_END, Channel

SIGNALLED = 128


@dataclass(frozen=True)
class Asked:
    """What is to be run, and where; without a container's name, in the first."""

    container: str
    argv: tuple[str, ...]
    stdin: bool


def asked(request: web.Request) -> Asked:
    argv = tuple(request.query.getall("command", []))
    if request.query.get("tty") == "true":
        raise refusals.bad_request("there are no terminals here: leave out --tty")
    if not argv:
        raise refusals.bad_request("you must specify at least 1 command for the container")
    return Asked(request.query.get("container", ""), argv, request.query.get("stdin") == "true")


async def carry(request: web.Request, begin: Callable[[Asked], Awaitable[Process]]) -> web.WebSocketResponse:
    """Begin what is asked for, and pass on what both sides say until it has ended, or nobody hears it any more."""
    socket = web.WebSocketResponse(protocols=(WITH_END, WITHOUT_END))
    if request.method != "GET" or not socket.can_prepare(request):
        raise refusals.bad_request("commands are run over WebSockets alone: use kubectl 1.31 or newer")
    await socket.prepare(request)
    with contextlib.suppress(ConnectionError):
        # A client that is refused over HTTP tries an older protocol, and hears of that alone.
        try:
            status = await _carried(socket, await begin(asked(request)))
        except RefusedError as refused:
            status = refused.status
        await socket.send_bytes(bytes([Channel.STATUS]) + msgspec.json.encode(status))
        await socket.close()
    return socket


async def _carried(socket: web.WebSocketResponse, process: Process) -> Manifest:
    hearing = asyncio.create_task(_hear(socket, process))
    try:
        said = ((Channel.STDOUT, process.stdout), (Channel.STDERR, process.stderr))
        await asyncio.gather(*(_say(socket, channel, stream) for channel, stream in said))
        code = await process.wait()
        return ended(code if code >= 0 else SIGNALLED - code)
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        if process.returncode is None:
            process.kill()


async def _say(socket: web.WebSocketResponse, channel: Channel, stream: asyncio.StreamReader | None) -> None:
    while stream is not None and (piece := await stream.read(PIECE)):
        await socket.send_bytes(bytes([channel]) + piece)


async def _hear(socket: web.WebSocketResponse, process: Process) -> None:
    """Give the command its input; it may have stopped reading."""
    async for message in socket:
        if process.stdin is None or message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        if message.data[0] == Channel.END:
            process.stdin.close()
        elif message.data[0] == Channel.STDIN:
            process.stdin.write(message.data[1:])
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()
    if process.stdin is not None:
        process.stdin.close()


def ended(code: int) -> Manifest:
    """Say how a command ended, as a kubelet does."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
