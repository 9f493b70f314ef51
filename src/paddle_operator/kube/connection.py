"""Carries one request to the API server and its answer back, with what proves who we are."""

import contextlib
import socket
import ssl
from asyncio.trsock import TransportSocket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from aiohttp.connector import AddrInfoType

from paddle_operator.kube import document, errors
from paddle_operator.kube.config import Config
from paddle_operator.kube.request import Request

CONNECT_TIMEOUT = 10.0
# A peer that vanished without a word is noticed by the kernel after about this many seconds.
SILENCE = 30
# How long the other side may take to say goodbye to a conversation that is over.
GOODBYE = 1.0


@dataclass(frozen=True)
class Way:
    session: aiohttp.ClientSession
    url: str
    headers: dict[str, str]
    tls: ssl.SSLContext | bool


class Connection:
    def __init__(self, config: Config, user_agent: str) -> None:
        self._config = config
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=attentive_socket),
            headers={"User-Agent": self._user_agent},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(refused, once),
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @contextlib.asynccontextmanager
    async def websocket(
        self, asked: Request, protocols: Iterable[str]
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse[bool]]:
        """Talk both ways; who opens it sets a time limit."""
        async with (
            self._reached(asked) as way,
            way.session.ws_connect(
                way.url,
                params=asked.params,
                protocols=protocols,
                headers=way.headers,
                ssl=way.tls,
                server_hostname=self._config.tls_server_name,
                timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE),
            ) as opened,
        ):
            line = opened.get_extra_info("socket")
            try:
                yield opened
            finally:
                await opened.close()
                hang_up(line)

    @contextlib.asynccontextmanager
    async def answer(self, asked: Request, limit: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        async with (
            self._reached(asked) as way,
            way.session.request(
                asked.method,
                way.url,
                params=asked.params,
                data=asked.body,
                headers=way.headers,
                timeout=limit,
                ssl=way.tls,
                server_hostname=self._config.tls_server_name,
            ) as response,
        ):
            yield response

    @contextlib.asynccontextmanager
    async def _reached(self, asked: Request) -> AsyncIterator[Way]:
        """Give the way to the server with what proves who we are; what goes wrong on it is told in our own errors."""
        if self._session is None:
            raise RuntimeError("the client is used outside of its `async with`")
        proof = await self._config.credentials.proof()
        tls = self._config.tls.context(proof.pair) if self._config.tls else True
        try:
            yield Way(self._session, self._config.server + asked.path, {**asked.headers, **proof.headers}, tls)
        except errors.UnauthorizedError:
            self._config.credentials.invalidate()
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            words = str(error) or type(error).__name__
            raise errors.UnreachableError(f"{asked.method} {asked.path}: {words}") from error


async def once(asked: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a GET, PUT or DELETE again by itself, which it does after these errors only."""
    try:
        return await send(asked)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError(str(error)) from error


async def refused(asked: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Turn an answer that says no into an error, and follow nobody elsewhere."""
    response = await send(asked)
    if response.status >= HTTPStatus.MULTIPLE_CHOICES:
        async with response:
            raise refusal(response.status, await response.read(), response.headers.get("Retry-After"))
    return response


def refusal(code: int, body: bytes, retry_after: str | None) -> errors.ApiError:
    """Read the Status that the API server sends; a proxy in between sends anything."""
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
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


def attentive_socket(address: AddrInfoType) -> socket.socket:
    """Make a socket that asks whether the other side still lives while nothing is sent."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", SILENCE // 2), ("TCP_KEEPINTVL", SILENCE // 6), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on every system
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
