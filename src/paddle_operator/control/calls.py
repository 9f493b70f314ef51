"""What a plan asks of servers other than the API server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from paddle_operator.api.manifest import Key, Manifest


class CallError(Exception):
    """A server did not take what it was asked for: it is told, and tried again."""


class RefusedError(CallError):
    """A server says no: the same again is refused again."""


@dataclass(frozen=True)
class Call:
    """An order under an id: the same again changes nothing at the server, so it may be repeated at will.

    An empty order cancels what was ordered under the id, if it is not done.
    `secret` names the Secret whose values go with it: they are never part of a plan.
    """

    server: str
    id: str
    order: Manifest
    secret: Key | None = None


Caller = Callable[[Call], Awaitable[None]]


async def nobody(call: Call) -> None:
    """Refuse: a controller that makes calls says who carries them."""
    raise CallError(f"nobody carries {call.id} to {call.server}")
