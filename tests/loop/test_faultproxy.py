"""The proxy passes on what it is given, unless it is told to do harm; then it does that harm and no other."""

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.kube import client as wire
from paddle_operator.kube import errors, request
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.connection import once
from paddle_operator.kube.credentials import Fixed
from paddle_operator.kube.request import Preconditions, Scope
from support import family, faultproxy
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS, PARENTS
from support.faultproxy import FaultProxy
from support.mishaps import EXPIRED, EXPIRED_INSIDE, WRITING, Fault, Mishap, reset

PLURAL = "configmaps"
KEY = Key("default", "one")
COLLECTION = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY", Backoff(0.001, 0.001))


@pytest.fixture
async def proxy(api: Api) -> AsyncIterator[FaultProxy]:
    async with faultproxy.running(api.config) as running:
        yield running


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[Client]:
    async with Client(proxy.config, "tester", timeout=5.0) as opened:
        yield opened


@pytest.fixture
async def bare() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, middlewares=(once,)) as opened:
        yield opened


def config_map(name: str = "one", **data: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


class Watching:
    """A watch as bytes, piece by piece."""

    def __init__(self, client: Client) -> None:
        self.heard = b""
        self.error: errors.KubeError | None = None
        self._client = client

    async def run(self) -> None:
        asked = request.watch(Scope(CONFIG_MAPS), "1", 30)
        try:
            async with self._client.stream(asked, 30) as pieces:
                async for piece in pieces:
                    self.heard += piece
        except errors.KubeError as error:
            self.error = error


@contextlib.asynccontextmanager
async def watching(client: Client, proxy: FaultProxy) -> AsyncIterator[tuple[Watching, asyncio.Task[None]]]:
    watch = Watching(client)
    open_before = len(proxy.watches)
    task = asyncio.create_task(watch.run())
    try:
        await eventually(lambda: len(proxy.watches) > open_before)
        yield watch, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
        await runner.cleanup()


async def test_every_verb_reaches_the_server_and_its_answer_comes_back(
    api: Api, proxy: FaultProxy, client: Client
) -> None:
    seen: list[str] = []
    proxy.after_write = seen.append
    made = await client.create(CONFIG_MAPS, config_map(text="x" * 900_000))
    assert made == api.get(PLURAL, *KEY)
    applied = await client.apply(CONFIG_MAPS, config_map(text="a\x85b"))
    await client.replace(CONFIG_MAPS, {**applied, "data": {"text": "c"}})
    await client.patch(CONFIG_MAPS, KEY, {"data": {"more": "d"}})
    api.put("parents", family.parent("ada"))
    await client.patch(PARENTS, Key("default", "ada"), {"status": {"children": 1}}, subresource="status")
    assert (await client.get(CONFIG_MAPS, KEY))["data"] == {"text": "c", "more": "d"}
    assert [item["metadata"]["name"] for item in (await client.list(Scope(CONFIG_MAPS))).items] == ["one"]
    await client.delete(CONFIG_MAPS, KEY, Preconditions(uid_of(made)))
    assert api.names(PLURAL) == []
    assert proxy.writes == seen
    assert seen == [
        "POST configmaps/one",
        "PATCH configmaps/one",
        "PUT configmaps/one",
        "PATCH configmaps/one",
        "PATCH parents/ada/status",
        "DELETE configmaps/one",
    ]
    assert proxy.requests == {"POST": 1, "PATCH": 3, "PUT": 1, "GET": 2, "DELETE": 1}


async def test_the_servers_refusal_passes_as_it_is(client: Client) -> None:
    with pytest.raises(errors.NotFoundError, match='configmaps "one" not found'):
        await client.get(CONFIG_MAPS, KEY)


async def test_path_parameters_body_and_headers_pass_as_they_are(bare: aiohttp.ClientSession) -> None:
    heard: list[tuple[str, bytes, dict[str, str]]] = []

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        heard.append((asked.raw_path, await asked.read(), {k.lower(): v for k, v in asked.headers.items()}))
        return web.Response(
            status=302, body=gzip.compress(b"text"), headers={"Content-Encoding": "gzip", "Location": "/"}
        )

    async with fronted(web.Server(answer, auto_decompress=False)) as proxy:
        path = f"{COLLECTION}/a%2Fb?labelSelector=a%3Db%2Cc&x=%20+"
        address = URL(proxy.config.server + path, encoded=True)
        headers = {"X-Own": "yes", "Content-Encoding": "gzip", "Content-Type": "text/odd"}
        sent = gzip.compress(b'{"metadata":{}}')
        async with bare.post(address, data=sent, headers=headers, allow_redirects=False) as response:
            body = await response.read()
    assert (response.status, response.headers["Content-Encoding"], response.headers["Location"]) == (302, "gzip", "/")
    assert gzip.decompress(body) == b"text"
    ((asked, arrived, got),) = heard
    assert (asked, arrived) == (path, sent)
    assert (got["x-own"], got["content-type"], got["authorization"]) == ("yes", "text/odd", "Bearer secret")


async def test_a_piece_of_a_line_passes_before_the_rest_of_it_exists(
    api: Api, proxy: FaultProxy, client: Client
) -> None:
    async with watching(client, proxy) as (watch, _):
        for piece in (b'{"type":', b'"ADD', b"\n", b"{"):
            before = watch.heard
            api.send(PLURAL, piece)
            await eventually(lambda: watch.heard == before + piece)  # noqa: B023 awaited before the next piece


async def test_a_line_put_into_a_watch_does_not_tear_another_one(api: Api, proxy: FaultProxy, client: Client) -> None:
    async with watching(client, proxy) as (watch, _):
        proxy.send(PLURAL, b"first\n")
        await eventually(lambda: watch.heard == b"first\n")
        api.send(PLURAL, b"one ")
        await eventually(lambda: watch.heard == b"first\none ")
        proxy.send(PLURAL, b"second\n")
        proxy.send("secrets", b"not for you\n")
        proxy.bookmark(PLURAL, "7")
        api.send(PLURAL, b"line\nnext")
        mark = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}\n'
        await eventually(lambda: watch.heard == b"first\none line\nsecond\n" + mark + b"next")


@pytest.mark.parametrize(
    ("name", "expected", "done"),
    [
        ("reset before the server got it", errors.UnreachableError, False),
        ("reset after the server did it", errors.UnreachableError, True),
        ("500 before the server got it", errors.ServerError, False),
        ("500 after the server did it", errors.ServerError, True),
        ("429 and to be sent again at once", errors.TooManyRequestsError, False),
        ("409", errors.ConflictError, False),
    ],
    ids=WRITING,
)
async def test_a_write_meets_its_mishap(
    api: Api, proxy: FaultProxy, client: Client, name: str, expected: type[errors.KubeError], *, done: bool
) -> None:
    proxy.fail_writes(1.0, [WRITING[name]])
    with pytest.raises(expected):
        await client.create(CONFIG_MAPS, config_map())
    assert api.names(PLURAL) == proxy_names(proxy) == (["one"] if done else [])
    assert set(map(id, proxy.struck)) == {id(WRITING[name])}
    assert (await client.list(Scope(CONFIG_MAPS))).resource_version, "reading is left alone"
    proxy.fail_writes(0)
    await client.create(CONFIG_MAPS, config_map("two"))


def proxy_names(proxy: FaultProxy) -> list[str]:
    return [write.removeprefix(f"POST {PLURAL}/") for write in proxy.writes]


async def test_the_same_seed_hits_the_same_writes(api: Api) -> None:
    async def hits(seed: int) -> list[bool]:
        async with faultproxy.running(api.config) as proxy, Client(proxy.config, "tester") as client:
            proxy.fail_writes(0.3, [Mishap(409, "Conflict")], seed)
            found: list[bool] = []
            for _ in range(40):
                with contextlib.suppress(errors.ConflictError):
                    await client.apply(CONFIG_MAPS, config_map())
                found.append(len(proxy.struck) > sum(found))
            return found

    first, again, other = [await hits(seed) for seed in (1, 1, 2)]
    assert first == again != other
    assert 4 <= sum(first) <= 20


async def test_a_fault_strikes_so_often_and_only_what_it_names(api: Api, proxy: FaultProxy, client: Client) -> None:
    proxy.fail("PATCH", f"{PLURAL}/one", 3, 409, "Conflict")
    for _ in range(3):
        with pytest.raises(errors.ConflictError):
            await client.apply(CONFIG_MAPS, config_map())
    await client.apply(CONFIG_MAPS, config_map())
    proxy.fail("POST", PLURAL, 1, 429, "TooManyRequests", Retry_After="0")
    await client.create(CONFIG_MAPS, config_map("two"))
    assert (api.names(PLURAL), proxy.requests["POST"]) == (["one", "two"], 2)


async def test_cut_watches_are_reset_at_once(proxy: FaultProxy, client: Client) -> None:
    async with watching(client, proxy) as (watch, task):
        proxy.cut_watches()
        assert proxy.watches == []
        await task
        assert "reset by peer" in str(watch.error)


async def test_watches_that_are_ended_end_in_order(proxy: FaultProxy, client: Client) -> None:
    async with watching(client, proxy) as (watch, task):
        proxy.end_watches()
        await task
        assert watch.error is None


async def test_a_watch_that_the_server_cut_is_cut(api: Api, proxy: FaultProxy, client: Client) -> None:
    async with watching(client, proxy) as (watch, task):
        api.cut_watches()
        await task
        assert isinstance(watch.error, errors.UnreachableError)


async def test_frozen_watches_say_nothing_and_new_ones_do_until_the_thaw(
    api: Api, proxy: FaultProxy, client: Client
) -> None:
    async with watching(client, proxy) as (old, task):
        proxy.freeze_watches()
        api.send(PLURAL, b"held\n")
        async with watching(client, proxy) as (new, _):
            api.send(PLURAL, b"heard\n")
            await eventually(lambda: new.heard == b"heard\n")
            api.cut_watches()  # nobody says so to the frozen one
            await eventually(lambda: new.error)
            assert (old.heard, task.done()) == (b"", False)
        proxy.thaw()
        await task
        assert old.error is not None


async def test_what_is_frozen_is_passed_on_after_the_thaw(api: Api, proxy: FaultProxy, client: Client) -> None:
    async with watching(client, proxy) as (watch, _):
        proxy.freeze()
        writing = asyncio.create_task(client.create(CONFIG_MAPS, config_map()))
        await eventually(lambda: proxy.requests["POST"] == 1)
        assert (api.names(PLURAL), watch.heard) == ([], b"")
        proxy.thaw()
        await writing
        await eventually(lambda: json.loads(watch.heard)["object"]["metadata"]["name"] == "one")


async def test_what_is_given_up_while_all_is_frozen_never_happened(api: Api, proxy: FaultProxy) -> None:
    proxy.freeze()
    async with Client(proxy.config, "tester", timeout=0.1) as hasty:
        with pytest.raises(errors.UnreachableError):
            await hasty.create(CONFIG_MAPS, config_map())
    proxy.thaw()
    async with Client(proxy.config, "tester") as patient:
        await patient.create(CONFIG_MAPS, config_map("two"))
    assert api.names(PLURAL) == ["two"]


async def test_who_went_away_comes_back_to_the_same_place(api: Api, proxy: FaultProxy, client: Client) -> None:
    place = proxy.config.server
    async with watching(client, proxy) as (watch, task):
        await proxy.stop()
        await task
        assert "reset by peer" in str(watch.error)
        with pytest.raises(errors.UnreachableError, match="Connect call failed"):
            await client.create(CONFIG_MAPS, config_map())
        api.put(PLURAL, config_map("meanwhile"))
        await proxy.start()
        assert proxy.config.server == place
        assert [item["metadata"]["name"] for item in (await client.list(Scope(CONFIG_MAPS))).items] == ["meanwhile"]


@pytest.mark.parametrize(("mishap", "heard"), [(EXPIRED, b""), (EXPIRED_INSIDE, EXPIRED_INSIDE.event)])
async def test_a_watch_expires_in_either_form(proxy: FaultProxy, client: Client, mishap: Mishap, heard: bytes) -> None:
    proxy.faults.append(Fault("GET", "watch=true", 1, mishap))
    watch = Watching(client)
    await watch.run()
    assert watch.heard == heard
    assert isinstance(watch.error, errors.GoneError) is not mishap.inside


async def test_the_proxy_sends_nothing_twice(bare: aiohttp.ClientSession) -> None:
    asked: list[str] = []

    async def vanish(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.method)
        reset(request.transport)
        return web.Response()

    async with fronted(web.Server(vanish)) as proxy:
        for method in ("GET", "PUT", "DELETE", "POST"):
            with pytest.raises(aiohttp.ClientConnectionError):
                await bare.request(method, f"{proxy.config.server}{COLLECTION}/one")
    assert asked == ["GET", "PUT", "DELETE", "POST"]


def sockets() -> list[Path]:
    places = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return [place for place in places if place.readlink().name.startswith("socket:")]


async def endless(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await asyncio.Event().wait()
    return response


@pytest.mark.parametrize("frozen", [False, True])
async def test_closing_it_leaves_neither_task_nor_socket(*, frozen: bool) -> None:
    tasks, open_before = asyncio.all_tasks(), len(sockets())
    async with (
        fronted(web.Server(endless, handler_cancellation=True)) as proxy,
        Client(proxy.config, "tester") as client,
    ):
        server = len(sockets())
        async with watching(client, proxy) as (watch, task):
            if frozen:
                proxy.freeze()
            more = Watching(client)
            waiting = asyncio.create_task(more.run())
            await eventually(lambda: proxy.requests["GET"] == 2)
            await proxy.stop()
            await asyncio.gather(task, waiting)
            assert (type(watch.error), type(more.error)) == (errors.UnreachableError,) * 2
            await eventually(lambda: len(sockets()) < server)
    await eventually(lambda: asyncio.all_tasks() <= tasks)
    await eventually(lambda: len(sockets()) == open_before)
