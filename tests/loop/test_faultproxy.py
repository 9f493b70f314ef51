"""The proxy passes on what it is given, unless it is told to do harm; then it does that harm and no other."""

import contextlib
import gzip
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.connection import once
from paddle_operator.kube.request import Preconditions, Scope
from support import family, faultproxy
from support.embeddedapi import Api
from support.family import CONFIG_MAPS, PARENTS
from support.faultproxy import FaultProxy
from support.mishaps import WRITING, Mishap, reset

from .conftest import fronted

PLURAL = "configmaps"
KEY = Key("default", "one")
COLLECTION = "/api/v1/namespaces/default/configmaps"


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


async def test_what_is_given_up_while_all_is_frozen_never_happened(api: Api, proxy: FaultProxy) -> None:
    proxy.freeze()
    async with Client(proxy.config, "tester", timeout=0.1) as hasty:
        with pytest.raises(errors.UnreachableError):
            await hasty.create(CONFIG_MAPS, config_map())
    proxy.thaw()
    async with Client(proxy.config, "tester") as patient:
        await patient.create(CONFIG_MAPS, config_map("two"))
    assert api.names(PLURAL) == ["two"]


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
