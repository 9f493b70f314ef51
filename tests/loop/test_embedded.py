"""What the embedded API server has for itself: its door, its memory, its limits, and what hostile requests get."""

import asyncio
import io
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from paddle_operator.api.manifest import Key, Manifest, version_of
from paddle_operator.embedded.apiserver import streams
from paddle_operator.embedded.apiserver.objects import Options
from paddle_operator.embedded.apiserver.resources import defined
from paddle_operator.embedded.apiserver.rules import RuleError
from paddle_operator.embedded.apiserver.selectors import Selector
from paddle_operator.embedded.apiserver.server import Server
from paddle_operator.embedded.apiserver.storage import Storage
from paddle_operator.kube import errors, request
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Preconditions, Request, Scope
from support import definition, family
from support.family import CONFIG_MAPS, PARENTS

NAMESPACES = request.Kind("", "v1", "namespaces", "Namespace", namespaced=False)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server([definition.DEFINITION], Storage(kept=20)).running() as running:
        yield running


@pytest.fixture
async def reader(server: Server) -> AsyncIterator[Client]:
    async with Client(server.config, "tester") as opened:
        yield opened


def config_map(name: str, **data: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


async def churn(client: Client, times: int) -> None:
    await client.create(CONFIG_MAPS, config_map("churn"))
    for number in range(times):
        await client.patch(CONFIG_MAPS, Key("default", "churn"), {"data": {"number": str(number)}})


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer guess"}, {"Authorization": "Basic YTpi"}])
async def test_who_does_not_have_the_token_is_turned_away(server: Server, header: dict[str, str]) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{server.config.server}/api/v1/secrets", headers=header) as response,
    ):
        assert (response.status, (await response.json())["reason"]) == (401, "Unauthorized")


async def test_it_listens_on_the_loopback_only(server: Server) -> None:
    assert server.config.server.startswith("http://127.0.0.1:")


async def test_a_version_that_is_forgotten_is_told_inside_of_the_watch(reader: Client) -> None:
    await churn(reader, 30)
    asked = request.watch(Scope(CONFIG_MAPS, "default"), "3", 5)
    async with reader.stream(asked, 10) as chunks:
        event = json.loads(b"".join([chunk async for chunk in chunks]))
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_a_page_of_a_forgotten_version_is_gone(reader: Client) -> None:
    for number in range(4):
        await reader.create(CONFIG_MAPS, config_map(f"page-{number}"))
    first = await reader.send(request.list_page(Scope(CONFIG_MAPS, "default"), 2))
    await churn(reader, 30)
    with pytest.raises(errors.GoneError, match="The provided continue parameter is too old"):
        await reader.send(request.list_page(Scope(CONFIG_MAPS, "default"), 2, first["metadata"]["continue"]))
    exactly = {"resourceVersion": first["metadata"]["resourceVersion"], "resourceVersionMatch": "Exact"}
    with pytest.raises(errors.GoneError, match="The resourceVersion for the provided list is too old"):
        await reader.send(Request("GET", CONFIG_MAPS.collection("default"), exactly))
    assert len((await reader.list(Scope(CONFIG_MAPS, "default"), 2)).items) == 5


async def test_a_list_of_exactly_one_version_is_of_then(reader: Client) -> None:
    made = await reader.create(CONFIG_MAPS, config_map("one"))
    await reader.delete(CONFIG_MAPS, Key("default", "one"), Preconditions())
    exactly = {"resourceVersion": version_of(made), "resourceVersionMatch": "Exact"}
    then = await reader.send(Request("GET", CONFIG_MAPS.collection("default"), exactly))
    assert [item["metadata"]["name"] for item in then["items"]] == ["one"]


async def test_a_version_that_is_not_yet_is_waited_for_elsewhere(reader: Client) -> None:
    with pytest.raises(errors.ServerError) as refused:
        await reader.send(Request("GET", CONFIG_MAPS.collection("default"), {"resourceVersion": "99999"}))
    assert "Too large resource version" in refused.value.message


async def test_bookmarks_come_while_nothing_happens(server: Server) -> None:
    wanted = streams.Wanted(CONFIG_MAPS, Selector(), since=server.objects.storage.version, seconds=5.0, bookmarks=True)
    async for line in streams.lines(server.objects.storage, wanted, bookmark_seconds=0.01):
        event = json.loads(line)
        assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
        assert version_of(event["object"]) == str(server.objects.storage.version)
        break


async def test_a_reader_that_is_too_slow_is_sent_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back with the version it has, and misses nothing."""
    monkeypatch.setattr(streams, "MOST_WAITING", 3)
    storage = server.objects.storage
    wanted = streams.Wanted(CONFIG_MAPS, Selector(), since=storage.version, seconds=5.0)
    reading = streams.lines(storage, wanted)
    waiting = asyncio.ensure_future(anext(reading))
    await asyncio.sleep(0)
    resource = server.catalogue.at("", "v1", "configmaps")
    assert resource is not None
    for number in range(9):
        server.objects.create(resource, "default", config_map(f"box-{number}"), Options())
    assert json.loads(await waiting)["object"]["metadata"]["name"] == "box-0"
    assert [line async for line in reading] == []
    assert not storage._listeners[1:]


async def test_the_server_ends_although_somebody_watches() -> None:
    server = Server()
    async with server.running():
        client = Client(server.config, "tester")
        async with client, client.stream(request.watch(Scope(CONFIG_MAPS), "", 600), 600) as chunks:
            reading = asyncio.ensure_future(anext(chunks, b""))
            await asyncio.sleep(0)
            async with asyncio.timeout(10):
                server._ended.set()
                assert await reading == b""


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "/api/v1/namespaces/default/configmaps", b"{", 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b"[]", 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b"{}", 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"metadata":5}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":5}}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":"a","labels":[]}}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":"a","ownerReferences":[5]}}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"kind":"Pod","metadata":{"name":"a"}}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b'{"a":' * 100_000, 400),
        ("POST", "/api/v1/namespaces/default/configmaps", b" " * (3 * 1024 * 1024 + 1), 413),
        ("POST", "/apis/example.org/v1/namespaces/default/parents", b'{"metadata":{"name":"a"},"spec":[]}', 422),
        ("POST", "/apis/example.org/v1/namespaces/default/parents", b'{"metadata":{"name":"a"},"spec":1e999}', 400),
        ("POST", "/api/v1/namespaces/default/configmaps/a", b"{}", 405),
        ("PUT", "/api/v1/namespaces/default/configmaps", b"{}", 405),
        ("OPTIONS", "/api/v1/namespaces/default/configmaps", b"", 405),
        ("PATCH", "/api/v1/namespaces/default/configmaps/a", b"{}", 415),
        ("DELETE", "/api/v1/namespaces/default/configmaps/a", b'{"propagationPolicy":"Sideways"}', 400),
        ("GET", "/api/v1/namespaces/default/configmaps?limit=many", b"", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/a/b/c/d", b"", 404),
        ("GET", "/api/v1/namespaces/%2e%2e%2f/configmaps/%00", b"", 404),
        ("GET", "/apis", b"", 200),
    ],
)
async def test_requests_that_cannot_be_get_an_answer_and_do_no_harm(
    server: Server, reader: Client, method: str, path: str, body: bytes, code: int
) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, server.config.server + path, data=io.BytesIO(body), headers=headers) as response,
    ):
        answer = await response.json()
        assert (response.status, answer.get("code", 200)) == (code, code)
    assert (await reader.list(Scope(CONFIG_MAPS, "default"))).items == []


async def test_a_definition_whose_rule_cannot_be_read_is_refused_at_once() -> None:
    version = {**definition.DEFINITION["spec"]["versions"][0]}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": [{"rule": "self +"}]}}
    with pytest.raises(RuleError, match=r"self \+"):
        defined({**definition.DEFINITION, "spec": {**definition.DEFINITION["spec"], "versions": [version]}})


async def test_an_unknown_field_is_warned_of(server: Server, reader: Client) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    url = f"{server.config.server}{CONFIG_MAPS.collection('default')}"
    wanted = {**config_map("one"), "dta": {}}
    async with aiohttp.ClientSession() as session, session.post(url, json=wanted, headers=headers) as response:
        assert (response.status, response.headers["Warning"]) == (201, '299 - "unknown field \\"dta\\""')
    assert "dta" not in await reader.get(CONFIG_MAPS, Key("default", "one"))


async def test_a_running_pod_is_given_its_time(reader: Client) -> None:
    pods = request.PODS
    spec = {"nodeName": "here", "terminationGracePeriodSeconds": 7, "containers": [{"name": "a", "image": "b"}]}
    made = await reader.create(pods, {"metadata": {"name": "one", "namespace": "default"}, "spec": spec})
    await reader.delete(pods, Key("default", "one"), Preconditions())
    ending = await reader.get(pods, Key("default", "one"))
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 7
    assert ending["metadata"]["uid"] == made["metadata"]["uid"]
    await reader.send(request.delete(pods, Key("default", "one"), Preconditions(), grace_seconds=0))
    with pytest.raises(errors.NotFoundError):
        await reader.get(pods, Key("default", "one"))


async def test_all_that_is_selected_is_deleted_at_once(reader: Client) -> None:
    for name in ("ada", "eve"):
        await reader.create(PARENTS, family.parent(name))
    await reader.create(CONFIG_MAPS, config_map("stays"))
    await reader.send(Request("DELETE", PARENTS.collection("default")))
    assert (await reader.list(Scope(PARENTS))).items == []
    assert len((await reader.list(Scope(CONFIG_MAPS))).items) == 1


async def test_a_bookmark_never_runs_ahead_of_what_was_told() -> None:
    """Changes come at the very moment at which a bookmark is due, too."""
    storage, count = Storage(), 100
    begun = storage.version
    loop, pause = asyncio.get_running_loop(), 0.001
    wanted = streams.Wanted(CONFIG_MAPS, Selector(), begun, seconds=60.0, bookmarks=True)
    told: set[str] = set()

    def write(number: int) -> None:
        storage.put(CONFIG_MAPS, {"metadata": {"name": f"n{number}", "namespace": "default"}})

    async for line in streams.lines(storage, wanted, pause):
        event = json.loads(line)
        version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            assert len(told) == int(version) - begun
            if len(told) == count:
                break
            # As long as the stream's own pause: both are over in one turn of the loop.
            loop.call_later(pause, write, len(told))
        else:
            told.add(version)
