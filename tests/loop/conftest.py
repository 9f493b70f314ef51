"""What every test of the loop has: the embedded API server behind a fault proxy, the real client, quick managers."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from aiohttp import web

from paddle_operator.api import crd
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.samplejob import SampleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.controllers import runtimes
from paddle_operator.desired.samplejob import ending as last
from paddle_operator.desired.samplejob import partitions
from paddle_operator.desired.samplejob import working as onway
from paddle_operator.desired.sampleset import ending, errands, plan
from paddle_operator.kube import client as wire
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed
from paddle_operator.kube.watch import Pace
from support import cachecluster, embeddedapi, faultproxy, volcano
from support.cachecluster import CacheCluster
from support.closing import close
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import FAMILY
from support.faultproxy import FaultProxy
from support.kubelet import Kubelet
from support.managing import QUICKLY, managed
from support.sampleloop import OURS, controllers, stands
from support.samplesets import sample_set, secret

MARK = "example.org/applied"
QUICK = Pace(watch_seconds=30, silence=1.0, settled=5.0, backoff=QUICKLY)
SETTINGS = Settings(MARK, pace=QUICK)
LONGEST_TEST = 120
Managing = Callable[..., AbstractAsyncContextManager[Manager]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(LONGEST_TEST))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client try again at once."""
    monkeypatch.setattr(wire, "RETRY", Backoff(0.001, 0.001))


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with embeddedapi.running() as running:
        yield running


@pytest.fixture
async def proxy(api: Api) -> AsyncIterator[FaultProxy]:
    """Give a second proxy, of which the test may say that it does nothing but what it is told."""
    async with faultproxy.running(api.config) as running:
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


@pytest.fixture
async def cluster(api: Api, _hasty: None) -> AsyncIterator[CacheCluster]:
    api.put("namespaces", {"metadata": {"name": OURS}})
    async with cachecluster.running(api, "node-1", "node-2", "node-3") as running:
        yield running


@pytest.fixture
def kubelet(api: Api) -> Kubelet:
    return Kubelet(api)


@pytest.fixture
async def careless() -> AsyncIterator[Api]:
    """Serve our kinds without their schemas, as an old cluster may, and Volcano's beside them."""
    definitions = [crd.v1(kind) for kind in (PaddleJob, SampleJob, SampleSet)]
    for definition in definitions:
        definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": volcano.OPEN}
    async with embeddedapi.running([*definitions, volcano.POD_GROUPS]) as running:
        yield running


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again what failed, and look at what is missing, at once."""
    monkeypatch.setattr(errands, "FIRST_PAUSE", dt.timedelta(0))
    monkeypatch.setattr(plan, "LACK_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(ending, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(plan, "AT_ONCE_SECONDS", 0.001)
    monkeypatch.setattr(runtimes, "SETTLE", 0.001)
    monkeypatch.setattr(runtimes, "BACKOFF", Backoff(0.01, 0.02))
    monkeypatch.setattr(runtimes, "CALM", 0.01)
    monkeypatch.setattr(partitions, "CALM", dt.timedelta(milliseconds=10))
    monkeypatch.setattr(onway, "AT_ONCE_SECONDS", 0.001)
    monkeypatch.setattr(onway, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(onway, "LACK_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(last, "PAUSE_SECONDS", 0.02)


async def is_ready(api: Api, managing: Managing, partitions: int = 1) -> None:
    api.put("secrets", secret())
    api.put("samplesets", sample_set(partitions=partitions))
    async with managing(controllers()):
        await eventually(stands(api, "Ready"))


@pytest.fixture
async def working(careless: Api) -> AsyncIterator[Managing]:
    async with Client(careless.config, "tester", timeout=5.0) as client:
        yield lambda controllers: managed(client, controllers, SETTINGS)


@contextlib.asynccontextmanager
async def fronted(server: web.Server) -> AsyncIterator[FaultProxy]:
    """Give a proxy in front of a server that answers as no API server does."""
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with faultproxy.running(Config(f"http://127.0.0.1:{runner.addresses[0][1]}", Fixed("secret"))) as proxy:
            yield proxy
    finally:
        await close(runner)
