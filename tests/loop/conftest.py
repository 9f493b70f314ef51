"""What every test of the loop has: the embedded API server behind a fault proxy, the real client, quick managers."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.kube.client import Client
from paddle_operator.kube.watch import Pace
from support import embeddedapi
from support.embeddedapi import Api
from support.family import FAMILY
from support.managing import QUICKLY, managed

MARK = "example.org/applied"
QUICK = Pace(watch_seconds=30, silence=1.0, settled=5.0, backoff=QUICKLY)
SETTINGS = Settings(MARK, pace=QUICK)
LONGEST_TEST = 30
Managing = Callable[..., AbstractAsyncContextManager[Manager]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(LONGEST_TEST))


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with embeddedapi.running() as running:
        yield running


@pytest.fixture
async def client(api: Api) -> AsyncIterator[Client]:
    async with Client(api.config, "tester", timeout=5.0) as opened:
        yield opened


@pytest.fixture
def managing(client: Client) -> Managing:
    """Give a manager that works as long as the `async with`; leaving it kills the manager, as a crash would."""

    def manage(
        controllers: Sequence[Controller] = (FAMILY,), settings: Settings = SETTINGS
    ) -> AbstractAsyncContextManager[Manager]:
        return managed(client, controllers, settings)

    return manage
