"""One answer of a server on its way through a proxy."""

import asyncio

import aiohttp

from paddle_operator.embedded.apiserver.calls import Place
from support.mishaps import reset


class Stream:
    """An answer on its way to a client, each piece as it comes; lines can be put between those of the server."""

    def __init__(self, place: Place, client: asyncio.BaseTransport | None, *, is_watch: bool) -> None:
        self.place = place
        self.is_watch = is_watch
        self.is_broken = False
        self.flowing = asyncio.Event()
        self.flowing.set()
        self._client = client
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._within_line = False
        self._waiting = b""

    async def read(self, content: aiohttp.StreamReader) -> None:
        try:
            async for piece in content.iter_any():
                self._take(piece)
        except aiohttp.ClientError:
            self.is_broken = True
        self.end()

    def _take(self, piece: bytes) -> None:
        if self._waiting and b"\n" in piece:
            line, _, following = piece.partition(b"\n")
            piece = line + b"\n" + self._waiting + following
            self._waiting = b""
        self._within_line = not piece.endswith(b"\n")
        self._pieces.put_nowait(piece)

    def send(self, line: bytes) -> None:
        if self._within_line:
            self._waiting += line
        else:
            self._pieces.put_nowait(line)

    @property
    def is_cut(self) -> bool:
        return self._client is None or self._client.is_closing()

    def cut(self) -> None:
        reset(self._client)

    def end(self) -> None:
        self._pieces.put_nowait(None)

    async def next(self) -> bytes | None:
        piece = await self._pieces.get()
        await self.flowing.wait()
        return piece
