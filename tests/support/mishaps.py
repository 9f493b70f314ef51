"""What a client gets to see in place of the API server's answer, and which requests it happens to."""

import json
import random
import socket
import struct
from asyncio import BaseTransport, Transport
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aiohttp import web

READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Mishap:
    """Without a code the connection is reset. `after`: the server has done it; `inside`: told in a watch begun well."""

    code: int = 0
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False
    inside: bool = False
    message: str = "a fault made by the test"

    @property
    def status(self) -> bytes:
        told = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": self.message}
        return json.dumps(told | {"code": self.code, "reason": self.reason}).encode()

    @property
    def event(self) -> bytes:
        return b'{"type":"ERROR","object":' + self.status + b"}\n"

    def answer(self, request: web.BaseRequest) -> web.Response:
        if not self.code:
            reset(request.transport)
            return web.Response()  # to nobody
        if self.inside:
            return web.Response(body=self.event, content_type="application/json")
        return web.Response(
            status=self.code, body=self.status, content_type="application/json", headers=dict(self.headers)
        )


EXPIRED = Mishap(410, "Expired")
EXPIRED_INSIDE = Mishap(410, "Expired", inside=True)
# What a write can meet. Of those with `after` the client cannot know whether it was done.
WRITING = {
    "reset before the server got it": Mishap(),
    "reset after the server did it": Mishap(after=True),
    "500 before the server got it": Mishap(500, "InternalError"),
    "500 after the server did it": Mishap(500, "InternalError", after=True),
    "429 and to be sent again at once": Mishap(429, "TooManyRequests", {"Retry-After": "0"}),
    "409": Mishap(409, "Conflict"),
}


@dataclass
class Fault:
    """Strikes so many requests of this method, with this in their path or parameters."""

    method: str
    part: str
    times: int
    mishap: Mishap

    def strikes(self, request: web.BaseRequest) -> bool:
        if self.times <= 0 or request.method != self.method or self.part not in request.path_qs:
            return False
        self.times -= 1
        return True


@dataclass(frozen=True)
class Expiry:
    """Strikes every watch that is to begin before a version, for ever: nothing older is known any more."""

    version: int
    mishap: Mishap

    def strikes(self, request: web.BaseRequest) -> bool:
        return is_watch(request) and int(request.query.get("resourceVersion") or self.version) < self.version


class Chance:
    """Strikes a share of all writes, each with one of the mishaps; the same seed gives the same sequence."""

    def __init__(self, share: float, mishaps: Sequence[Mishap], seed: int) -> None:
        self._share = share
        self._mishaps = mishaps
        self._random = random.Random(seed)  # noqa: S311 to be repeated, not to be secret

    def strike(self, request: web.BaseRequest) -> Mishap | None:
        if request.method in READING or self._random.random() >= self._share:
            return None
        return self._random.choice(self._mishaps)


NO_CHANCE = Chance(0.0, (), 0)


def is_watch(request: web.BaseRequest) -> bool:
    return request.method == "GET" and request.query.get("watch") in {"true", "1"}


def reset(transport: BaseTransport | None) -> None:
    """End a connection as a crash does: at once, with what is under way lost."""
    if isinstance(transport, Transport) and not transport.is_closing():
        at_once = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        transport.abort()
