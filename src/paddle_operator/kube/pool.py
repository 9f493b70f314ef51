"""The connections to one server: one per request at a time, kept for the next for a while."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

from paddle_operator.kube.conversation import Conversation

CONNECT_TIMEOUT = 10.0
# A peer that vanished without a word is noticed by the kernel after about this many seconds.
SILENCE = 30
# Servers end what they have not heard of for longer; a request must not meet with that.
KEPT = 15.0
Address = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
Place = tuple[socket.AddressFamily, socket.SocketKind, int, str, Address]


class Pool:
    def __init__(self, server: str, server_name: str | None = None) -> None:
        place = urlsplit(server)
        self.host = place.netloc.rpartition("@")[2]
        self.prefix = place.path.rstrip("/")
        self._address = (place.hostname or "", place.port or (443 if place.scheme == "https" else 80))
        self._server_name = server_name
        # The last one used is the next one used, so that those too many grow old.
        self._free: list[tuple[Conversation, ssl.SSLContext | None]] = []

    @contextlib.asynccontextmanager
    async def conversation(self, tls: ssl.SSLContext | None) -> AsyncIterator[Conversation]:
        """Give a connection to ask one thing on; one whose answer was not read to its end is not used again."""
        chosen = self._kept(tls) or await self._connected(tls)
        try:
            yield chosen
        finally:
            self._give_back(chosen, tls)

    async def close(self) -> None:
        while self._free:
            self._free.pop()[0].hang_up()
        await asyncio.sleep(0)  # the event loop closes them in its next round

    def _kept(self, tls: ssl.SSLContext | None) -> Conversation | None:
        oldest = asyncio.get_running_loop().time() - KEPT
        while self._free:
            kept, its_tls = self._free.pop()
            if kept.is_free and its_tls is tls and kept.idle_since > oldest:
                return kept
            kept.hang_up()
        return None

    def _give_back(self, used: Conversation, tls: ssl.SSLContext | None) -> None:
        if not used.is_free:
            used.hang_up()
            return
        now = used.idle_since = asyncio.get_running_loop().time()
        self._free.append((used, tls))
        while self._free and self._free[0][0].idle_since < now - KEPT:
            self._free.pop(0)[0].hang_up()

    async def _connected(self, tls: ssl.SSLContext | None) -> Conversation:
        host, port = self._address
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                line = await _reached(host, port)
                name = (self._server_name or host) if tls else None
                connecting = asyncio.get_running_loop().create_connection(
                    Conversation, sock=line, ssl=tls, server_hostname=name
                )
                return (await connecting)[1]
        except TimeoutError as error:
            raise TimeoutError(f"cannot connect to {host}:{port} in {CONNECT_TIMEOUT:.0f} s") from error
        except OSError as error:
            raise OSError(f"cannot connect to {host}:{port}: {error}") from error


async def _reached(host: str, port: int) -> socket.socket:
    """Try one address after the other, so that one that never answers does not take all the time there is."""
    places = await _places(host, port)
    for family, kind, protocol, _, address in places[:-1]:
        with contextlib.suppress(OSError):
            async with asyncio.timeout(CONNECT_TIMEOUT / len(places)):
                return await _line(socket.socket(family, kind, protocol), address)
    family, kind, protocol, _, address = places[-1]
    return await _line(socket.socket(family, kind, protocol), address)


async def _places(host: str, port: int) -> Sequence[Place]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # it is a name
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def _line(line: socket.socket, address: Address) -> socket.socket:
    try:
        line.setblocking(False)
        be_attentive(line)
        await asyncio.get_running_loop().sock_connect(line, address)
    except (OSError, asyncio.CancelledError):
        line.close()
        raise
    return line


def be_attentive(line: socket.socket) -> None:
    """Have the kernel ask whether the other side still lives while nothing is sent."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", SILENCE // 2), ("TCP_KEEPINTVL", SILENCE // 6), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on every system
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
