"""The proxy passes on a watch piece by piece, and cuts, ends, freezes and garbles it when told to."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from paddle_operator.api.manifest import Manifest
from paddle_operator.kube import errors, request
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS
from support.faultproxy import FaultProxy
from support.mishaps import EXPIRED, EXPIRED_INSIDE, Mishap

from .conftest import fronted

PLURAL = "configmaps"


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[Client]:
    async with Client(proxy.config, "tester", timeout=5.0) as opened:
        yield opened


def config_map(name: str = "one", **data: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


class Watching:
    """A watch as bytes, piece by piece."""

    def __init__(self, client: Client, since: str = "1") -> None:
        self.heard = b""
        self.error: errors.KubeError | None = None
        self._client = client
        self._since = since

    async def run(self) -> None:
        asked = request.watch(Scope(CONFIG_MAPS), self._since, 30)
        try:
            async with self._client.stream(asked, 30) as pieces:
                async for piece in pieces:
                    self.heard += piece
        except errors.KubeError as error:
            self.error = error


@contextlib.asynccontextmanager
async def watching(
    client: Client, proxy: FaultProxy, since: str = "1"
) -> AsyncIterator[tuple[Watching, asyncio.Task[None]]]:
    watch = Watching(client, since)
    open_before = len(proxy.watches)
    task = asyncio.create_task(watch.run())
    try:
        await eventually(lambda: len(proxy.watches) > open_before)
        yield watch, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
async def test_what_is_forgotten_is_told_in_either_form_and_stays_so(
    api: Api, proxy: FaultProxy, client: Client, mishap: Mishap, heard: bytes
) -> None:
    api.put(PLURAL, config_map())
    version = str(api.version)
    proxy.forget_before(version, mishap)
    for _ in range(2):
        watch = Watching(client)
        await watch.run()
        assert watch.heard == heard
        assert isinstance(watch.error, errors.GoneError) is not mishap.inside
    async with watching(client, proxy, since=version) as (watch, task):
        assert (watch.heard, task.done()) == (b"", False)


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
