"""One connection that speaks HTTP/1.1: a request goes out, its answer comes in, then perhaps the next."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

import httptools

# As much as may wait to be read before the server is asked to wait.
MOST_UNREAD = 1 << 18


@dataclass
class Head:
    """What an answer says before its body."""

    status: int = 0
    retry_after: str = ""
    has_length: bool = False


class Conversation(asyncio.Protocol):
    """`is_free`: the last answer is whole, and another request may follow."""

    def __init__(self) -> None:
        self.is_free = True
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._head = Head()
        self._is_headed = self._is_whole = self._is_paused = False
        self._unread: list[bytes] = []
        self._unread_size = 0
        self._loss: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def ask(self, message: bytes) -> Head:
        """Send a request, and wait for the head of its answer."""
        if self._transport is None or not self.is_free:
            raise ConnectionResetError("the connection is over")
        self.is_free = self._is_headed = self._is_whole = False
        self._head, self._unread, self._unread_size = Head(), [], 0
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(message)
        while not self._is_headed:
            await self._news()
        return self._head

    async def piece(self) -> bytes:
        """Give what came of the body since the last time; nothing is its end."""
        while not self._unread and not self._is_whole:
            await self._news()
        return self._taken()

    async def body(self) -> bytes:
        while not self._is_whole:
            if self._is_paused:
                self._go_on()
            await self._news()
        return self._taken()

    def hang_up(self) -> None:
        """End it now, whatever is still on the way: an encrypted one would wait for the other side to agree."""
        self.is_free = False
        if self._transport is not None:
            self._transport.abort()

    async def _news(self) -> None:
        if self._loss is not None:
            raise self._loss
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _taken(self) -> bytes:
        taken = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
        self._unread, self._unread_size = [], 0
        if self._is_paused:
            self._go_on()
        return taken

    def _go_on(self) -> None:
        self._is_paused, self._unread_size = False, 0
        if self._transport is not None:
            self._transport.resume_reading()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 there is no other for a stream
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._parser is None:  # nobody asked
            self.hang_up()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # What came after a whole answer does not spoil that one.
            self._loss = ConnectionError(f"the answer is not HTTP: {error}")
            self.hang_up()
        if self._is_whole:
            self._parser = None
        elif self._unread_size > MOST_UNREAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_free = False
        self._transport = self._parser = None
        if exc is None and self._is_headed and not self._head.has_length:
            self._is_whole = True  # as servers before HTTP/1.1 say it
        self._loss = self._loss or exc or ConnectionResetError("the server closed the connection")
        self._wake()

    # What the parser tells.

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise ConnectionError("there is one answer too many")

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"retry-after":
                self._head.retry_after = value.decode("latin-1")
            case b"content-length" | b"transfer-encoding":
                self._head.has_length = True

    def on_headers_complete(self) -> None:
        assert self._parser is not None  # noqa: S101 it is the one who tells
        self._head.status = self._parser.get_status_code()
        self._is_headed = self._head.status >= HTTPStatus.OK

    def on_body(self, data: bytes) -> None:
        self._unread.append(data)
        self._unread_size += len(data)

    def on_message_complete(self) -> None:
        assert self._parser is not None  # noqa: S101 it is the one who tells
        if self._is_headed:
            self._is_whole = True
            self.is_free = self._parser.should_keep_alive()
