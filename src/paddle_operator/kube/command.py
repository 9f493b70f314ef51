"""Runs a command in a container: an argv list and its input go in, what it printed and how it ended come out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import aiohttp

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import document, errors, request
from paddle_operator.kube.client import Client

# The older one has no way to say that the input ends.
WITH_END = "v5.channel.k8s.io"
WITHOUT_END = "v4.channel.k8s.io"
PIECE = 32 * 1024
# Nothing but these words tells this from a defect of the server.
NOT_RUNNING = (
    "container not found (",
    "container is in CONTAINER_",
    "cannot exec into a container in a completed pod",
    "does not have a host assigned",
)


class Channel(IntEnum):
    """The first byte of each message says what the rest is."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3
    END = 255


@dataclass(frozen=True)
class Limits:
    """How long it may take, and how many bytes of each output are kept."""

    seconds: float = 60.0
    output: int = 1 << 20


@dataclass(frozen=True)
class Ended:
    """`cut`: it printed more than was kept."""

    code: int
    stdout: bytes
    stderr: bytes
    cut: bool = False


DEFAULT = Limits()


async def run(
    client: Client,
    key: Key,
    argv: Sequence[str],
    *,
    container: str = "",
    stdin: bytes | None = None,
    limits: Limits = DEFAULT,
) -> Ended:
    """Run it once, never again; one that takes too long is left, and may still be running in its container.

    It should read its input: Kubernetes may not tell the end of a command that leaves more than 64 KiB unread.
    """
    asked = request.pod_exec(key, argv, container, stdin=stdin is not None)
    client.guard()
    protocols = [WITH_END] if stdin is not None else [WITH_END, WITHOUT_END]
    try:
        async with (
            asyncio.timeout(limits.seconds),
            client.connection.websocket(asked, protocols) as socket,
            _fed(socket, stdin),
        ):
            if socket.protocol is None:
                raise errors.UnreachableError(f"exec in pod {key}: the API server speaks none of {protocols}")
            return await _heard(socket, limits.output)
    except errors.ApiError as error:
        if any(words in error.message for words in NOT_RUNNING):
            raise errors.NotRunningError(error.status) from error
        raise
    except TimeoutError as error:
        words = f"{argv[0]} in pod {key} did not end in {limits.seconds:.0f} s"
        raise errors.UnreachableError(words) from error


Socket = aiohttp.ClientWebSocketResponse[bool]


@contextlib.asynccontextmanager
async def _fed(socket: Socket, stdin: bytes | None) -> AsyncIterator[None]:
    """Send the input beside what else is done: a command may print before it has read all, or never read it."""
    feeding = asyncio.create_task(_feed(socket, stdin))
    try:
        yield
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _feed(socket: Socket, stdin: bytes | None) -> None:
    if stdin is None:
        return
    for start in range(0, len(stdin), PIECE):
        await socket.send_bytes(bytes([Channel.STDIN]) + stdin[start : start + PIECE])
        await asyncio.sleep(0)  # sending alone lets nobody hear that the other side is gone
    await socket.send_bytes(bytes([Channel.END, Channel.STDIN]))


async def _heard(socket: Socket, most: int) -> Ended:
    printed = {Channel.STDOUT: bytearray(), Channel.STDERR: bytearray()}
    cut = False
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel == Channel.STATUS and data:
            code = exit_code(_status(data))
            return Ended(code, bytes(printed[Channel.STDOUT]), bytes(printed[Channel.STDERR]), cut)
        if channel in printed:
            kept = printed[Channel(channel)]
            cut = cut or len(kept) + len(data) > most
            kept += data[: most - len(kept)]
    raise errors.UnreachableError("the connection ended before the command did")


def _status(data: bytes) -> Manifest:
    try:
        status = document.parse(data)
    except ValueError:
        status = None
    return status if isinstance(status, dict) else {"message": data.decode(errors="replace")}


def exit_code(status: Manifest) -> int:
    """Read how a command ended; one that was not run at all is an error."""
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or []
    said = [str(cause.get("message")) for cause in causes if cause.get("reason") == "ExitCode"]
    if status.get("reason") == "NonZeroExitCode" and said and said[0].isdecimal():
        return int(said[0])
    raise errors.from_status(status)
