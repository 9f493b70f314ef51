"""Carries one request to the API server and its answer back, with what proves who we are."""

import asyncio
import contextlib
import socket
import ssl
from asyncio.trsock import TransportSocket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Self
from urllib.parse import urlencode

import aiohttp

from paddle_operator.kube import document, errors
from paddle_operator.kube.config import Config
from paddle_operator.kube.conversation import Conversation
from paddle_operator.kube.credentials import Proof
from paddle_operator.kube.pool import CONNECT_TIMEOUT, Pool, be_attentive
from paddle_operator.kube.request import Request

# How long the other side may take to say goodbye to a conversation that is over.
GOODBYE = 1.0


class Pieces:
    """The body of an answer as it comes."""

    def __init__(self, conversation: Conversation, silence: float) -> None:
        self._conversation = conversation
        self._silence = silence

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            async with asyncio.timeout(self._silence):
                piece = await self._conversation.piece()
        except TimeoutError as error:
            raise TimeoutError(f"silent for {self._silence:.0f} s") from error
        if not piece:
            raise StopAsyncIteration
        return piece


class Connection:
    def __init__(self, config: Config, user_agent: str) -> None:
        self._config = config
        self._user_agent = user_agent
        self._pool: Pool | None = None

    async def open(self) -> None:
        self._pool = Pool(self._config.server, self._config.tls_server_name)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    async def ask(self, asked: Request, seconds: float) -> bytes:
        """Give the whole body of the answer, which must be there in so many seconds."""
        proof = await self._config.credentials.proof()
        with told(asked):
            async with asyncio.timeout(seconds), self._answered(asked, proof) as conversation:
                return await conversation.body()

    @contextlib.asynccontextmanager
    async def stream(self, asked: Request, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the body piece by piece; it ends as unreachable when nothing at all comes for `silence` seconds."""
        proof = await self._config.credentials.proof()
        with told(asked):
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(silence):
                    conversation = await stack.enter_async_context(self._answered(asked, proof))
                yield Pieces(conversation, silence)

    @contextlib.asynccontextmanager
    async def _answered(self, asked: Request, proof: Proof) -> AsyncIterator[Conversation]:
        """Give the conversation with the answer's body still to be read; an answer that says no is an error."""
        if self._pool is None:
            raise RuntimeError("the client is used outside of its `async with`")
        message = self._message(asked, proof, self._pool)
        async with self._pool.conversation(self._tls(proof)) as conversation:
            head = await conversation.ask(message)
            # A redirection is a no, too: we follow nobody elsewhere.
            if head.status >= HTTPStatus.MULTIPLE_CHOICES:
                if head.status == HTTPStatus.UNAUTHORIZED:
                    self._config.credentials.invalidate()
                raise refusal(head.status, await conversation.body(), head.retry_after)
            yield conversation

    def _tls(self, proof: Proof) -> ssl.SSLContext | None:
        return self._config.tls.context(proof.pair) if self._config.tls else None

    def _message(self, asked: Request, proof: Proof, pool: Pool) -> bytes:
        headers = {"Host": pool.host, "User-Agent": self._user_agent, **asked.headers, **proof.headers}
        body = asked.body or b""
        if asked.method != "GET":
            headers["Content-Length"] = str(len(body))
        return written(asked.method, f"{pool.prefix}{asked.path}", asked.params, headers) + body

    @contextlib.asynccontextmanager
    async def websocket(
        self, asked: Request, protocols: Iterable[str]
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse[bool]]:
        """Talk both ways; who opens it sets a time limit."""
        proof = await self._config.credentials.proof()
        with told(asked):
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(),
                    headers={"User-Agent": self._user_agent},
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
                    middlewares=(self._refused, once),
                ) as session,
                session.ws_connect(
                    self._config.server + asked.path,
                    params=asked.params,
                    protocols=protocols,
                    headers={**asked.headers, **proof.headers},
                    ssl=self._tls(proof) or True,
                    server_hostname=self._config.tls_server_name,
                    timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE),
                ) as opened,
            ):
                line = opened.get_extra_info("socket")
                be_attentive(line)
                try:
                    yield opened
                finally:
                    await opened.close()
                    hang_up(line)

    async def _refused(self, asked: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Turn an answer that says no into an error, and follow nobody elsewhere."""
        response = await send(asked)
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            async with response:
                if response.status == HTTPStatus.UNAUTHORIZED:
                    self._config.credentials.invalidate()
                raise refusal(response.status, await response.read(), response.headers.get("Retry-After", ""))
        return response


async def once(asked: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a GET, PUT or DELETE again by itself, which it does after these errors only."""
    try:
        return await send(asked)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError(str(error)) from error


@contextlib.contextmanager
def told(asked: Request) -> Iterator[None]:
    """Tell what goes wrong on the way in our own errors."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        words = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
        raise errors.UnreachableError(f"{asked.method} {asked.path}: {words}") from error


def written(method: str, path: str, params: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
    """Write the head of a request, in which nobody's words may begin a line."""
    query = f"?{urlencode(params, doseq=True, errors='replace')}" if params else ""
    for name, value in headers.items():
        if not value.isprintable():
            raise errors.UnreachableError(f"the header {name} has a letter in it that cannot be sent")
    lines = [f"{method} {path}{query} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def refusal(code: int, body: bytes, retry_after: str) -> errors.ApiError:
    """Read the Status that the API server sends; a proxy in between sends anything."""
    seconds = float(retry_after) if retry_after.isdecimal() else None
    try:
        status = document.parse(body)
    except ValueError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"code": code, "message": body[:500].decode(errors="replace")}
    return errors.from_status({"code": code, **status}, seconds)


def hang_up(line: TransportSocket | None) -> None:
    """End a connection now: an encrypted one would wait half a minute for the other side to agree."""
    with contextlib.suppress(OSError):  # it is over already
        if line is not None:
            line.shutdown(socket.SHUT_RDWR)
