"""A client that notes which rights its requests need."""

import contextlib
from collections.abc import AsyncIterator

from paddle_operator.embedded.apiserver.calls import place_of
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.request import Request

VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


class Noting(Client):
    """Notes what each request needs leave for."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, "tester", timeout=5.0)
        self.used: set[tuple[str, str]] = set()

    def _note(self, asked: Request) -> None:
        place = place_of(asked.path)
        assert place is not None
        reading = "get" if place.name else "watch" if "watch" in asked.params else "list"
        resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
        self.used.add((resource, VERBS.get(asked.method, reading)))

    async def _once(self, asked: Request) -> bytes:
        self._note(asked)
        return await super()._once(asked)

    @contextlib.asynccontextmanager
    async def stream(self, asked: Request, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        self._note(asked)
        async with super().stream(asked, silence) as chunks:
            yield chunks
