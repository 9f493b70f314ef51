"""The client sends again only what is safe, and says why something was refused."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from paddle_operator.api.manifest import Key, Manifest, uid_of, version_of
from paddle_operator.control.lease import LeadershipLostError
from paddle_operator.kube import command, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.credentials import Fixed, Proof
from paddle_operator.kube.pool import be_attentive
from paddle_operator.kube.request import Preconditions, Request, Scope
from support.embeddedapi import Api
from support.family import CONFIG_MAPS

KEY = Key("default", "one")
PLURAL = "configmaps"


def config_map(name: str = "one", **data: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequestError),
        (403, "Forbidden", errors.ForbiddenError),
        (404, "NotFound", errors.NotFoundError),
        (409, "Conflict", errors.ConflictError),
        (409, "AlreadyExists", errors.AlreadyExistsError),
        (410, "Expired", errors.GoneError),
        (422, "Invalid", errors.InvalidError),
        (500, "InternalError", errors.ServerError),
        (503, "", errors.ServerError),
        (418, "Odd", errors.ApiError),
    ],
)
async def test_a_refusal_is_known_by_its_reason(
    api: Api, client: Client, code: int, reason: str, expected: type[errors.ApiError]
) -> None:
    api.fail("POST", PLURAL, 1, code, reason)
    with pytest.raises(errors.ApiError) as caught:
        await client.create(CONFIG_MAPS, config_map())
    assert type(caught.value) is expected
    assert (caught.value.code, caught.value.status["code"]) == (code, code)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["metadata.uid"], errors.ConflictError),
        (["metadata.uid", "spec"], errors.InvalidError),
        ([], errors.InvalidError),
    ],
    ids=["only the uid", "the uid and more", "nothing named"],
)
def test_a_write_meant_for_an_earlier_object_is_a_conflict(fields: list[str], expected: type[errors.ApiError]) -> None:
    causes = [{"reason": "FieldValueInvalid", "field": name} for name in fields]
    status = {"code": 422, "reason": "Invalid", "details": {"causes": causes}}
    assert type(errors.from_status(status)) is expected


async def test_a_create_that_failed_is_not_sent_again(api: Api, client: Client) -> None:
    api.fail("POST", PLURAL, 1, 500, "InternalError")
    with pytest.raises(errors.ServerError):
        await client.create(CONFIG_MAPS, config_map())
    assert api.requests["POST"] == 1


async def test_a_create_that_the_server_had_no_time_for_is_sent_again(api: Api, client: Client) -> None:
    api.fail("POST", PLURAL, 2, 429, "TooManyRequests", Retry_After="0")
    await client.create(CONFIG_MAPS, config_map())
    assert (api.requests["POST"], api.names(PLURAL)) == (3, ["one"])


async def test_the_servers_wish_to_wait_is_obeyed(api: Api, client: Client) -> None:
    api.fail("POST", PLURAL, 1, 429, "TooManyRequests", Retry_After="1")
    started = asyncio.get_running_loop().time()
    await client.create(CONFIG_MAPS, config_map())
    assert asyncio.get_running_loop().time() - started >= 0.99


async def test_who_may_not_write_any_more_does_not_send_again_either(api: Api, client: Client) -> None:
    """As a manager that lost the lease while it waited to try once more."""
    may_write = [True, True, False]

    def guard() -> None:
        if not may_write.pop(0):
            raise LeadershipLostError("lost")

    api.fail("PATCH", PLURAL, 10, 500, "InternalError")
    with pytest.raises(LeadershipLostError):
        await client.guarded(guard).apply(CONFIG_MAPS, config_map())
    assert (api.requests["PATCH"], may_write) == (2, [])


async def test_who_may_not_write_may_still_read(client: Client) -> None:
    def guard() -> None:
        raise LeadershipLostError("lost")

    assert (await client.guarded(guard).list(Scope(CONFIG_MAPS))).items == []
    with pytest.raises(LeadershipLostError):
        await command.run(client.guarded(guard), KEY, ["true"])
    await client.create(CONFIG_MAPS, config_map())


async def test_reading_and_applying_are_sent_again(api: Api, client: Client) -> None:
    api.fail("PATCH", PLURAL, 2, 500, "InternalError")
    api.fail("GET", PLURAL, 2, 503)
    await client.apply(CONFIG_MAPS, config_map(key="value"))
    assert (await client.get(CONFIG_MAPS, KEY))["data"] == {"key": "value"}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
async def test_a_write_whose_connection_breaks_is_not_sent_again(method: str) -> None:
    """Nor by the HTTP library, which repeats some methods by itself."""
    asked: list[str] = []

    async def hang_up(received: web.Request) -> web.Response:
        asked.append(received.method)
        assert received.transport is not None
        received.transport.close()
        return web.Response()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hang_up)
    async with TestServer(app) as server, Client(Config(str(server.make_url("")), Fixed()), "tester") as client:
        with pytest.raises(errors.UnreachableError, match=f"{method} .*: the server closed the connection"):
            await client.send(Request(method, "/api/v1/namespaces/default/configmaps/one"))
    assert asked == [method]


async def test_a_server_that_is_not_there_is_unreachable(api: Api, client: Client) -> None:
    await api.stop()
    with pytest.raises(errors.UnreachableError, match="GET /api/v1/namespaces/default/configmaps/one: "):
        await client.get(CONFIG_MAPS, KEY)


async def test_a_long_list_comes_in_pages_and_is_whole(api: Api, client: Client) -> None:
    for number in range(1200):
        api.put(PLURAL, config_map(f"map-{number:04}"))
    listing = await client.list(Scope(CONFIG_MAPS))
    assert [item["metadata"]["name"] for item in listing.items] == [f"map-{number:04}" for number in range(1200)]
    assert {(item["apiVersion"], item["kind"]) for item in listing.items} == {("v1", "ConfigMap")}
    assert (api.requests["GET"], listing.resource_version) == (3, str(api.version))


async def test_a_page_that_expired_makes_the_list_begin_again_in_one_piece(api: Api, client: Client) -> None:
    for number in range(9):
        api.put(PLURAL, config_map(f"map-{number}"))
    api.fail("GET", "continue=", 1, 410, "Expired")
    assert len((await client.list(Scope(CONFIG_MAPS), page=4)).items) == 9


@pytest.mark.parametrize("tokens", [["a"], ["a", "b"], ["a", "b", "c", "a"]], ids=["same", "two", "three"])
async def test_a_server_whose_pages_go_round_is_left(tokens: list[str]) -> None:
    asked: list[str] = []

    async def page(received: web.Request) -> web.Response:
        asked.append(received.query.get("continue", ""))
        following = tokens[len(asked) % len(tokens)]
        return web.json_response({"metadata": {"continue": following}, "items": [config_map()]})

    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    async with TestServer(app) as server, Client(Config(str(server.make_url("")), Fixed()), "tester") as client:
        with pytest.raises(errors.UnreachableError, match="go round in a circle"):
            await client.list(Scope(CONFIG_MAPS))
    assert len(asked) <= len(tokens) + 1


async def test_a_delete_hits_only_the_object_that_was_meant(api: Api, client: Client) -> None:
    made = await client.create(CONFIG_MAPS, config_map())
    with pytest.raises(errors.ConflictError):
        await client.delete(CONFIG_MAPS, KEY, Preconditions("another"))
    with pytest.raises(errors.ConflictError):
        await client.delete(CONFIG_MAPS, KEY, Preconditions(resource_version="1"))
    await client.delete(CONFIG_MAPS, KEY, Preconditions(uid_of(made), version_of(made)))
    assert api.names(PLURAL) == []


async def test_replacing_an_older_version_is_a_conflict(api: Api, client: Client) -> None:
    made = await client.create(CONFIG_MAPS, config_map())
    api.put(PLURAL, config_map(key="changed"))
    with pytest.raises(errors.ConflictError):
        await client.replace(CONFIG_MAPS, made)


class Renewing:
    def __init__(self) -> None:
        self.given = 0
        self.refused = 0

    async def proof(self) -> Proof:
        self.given += 1
        return Proof("token")

    def invalidate(self) -> None:
        self.refused += 1


async def test_a_refused_credential_is_renewed_once(api: Api) -> None:
    credentials = Renewing()
    async with Client(Config(api.config.server, credentials), "tester") as client:
        api.fail("GET", PLURAL, 1, 401, "Unauthorized")
        await client.list(Scope(CONFIG_MAPS))
        assert (credentials.given, credentials.refused) == (2, 1)
        api.fail("GET", PLURAL, 5, 401, "Unauthorized")
        with pytest.raises(errors.UnauthorizedError):
            await client.list(Scope(CONFIG_MAPS))
        assert credentials.given == 4


@pytest.mark.parametrize("body", ["<html>", "[]", '"text"', ""])
async def test_an_answer_that_is_no_object_is_an_error_like_no_answer(body: str) -> None:
    async with answering(web.Response(text=body)) as client:
        with pytest.raises(errors.UnreachableError, match="the answer is n"):
            await client.create(CONFIG_MAPS, config_map())


async def test_a_list_that_is_none_is_an_error_like_no_answer() -> None:
    async with answering(web.json_response({"items": []})) as client:
        with pytest.raises(errors.UnreachableError, match="is no page of a list"):
            await client.list(Scope(CONFIG_MAPS))


@pytest.mark.parametrize(
    ("answer", "expected", "words"),
    [
        (
            web.Response(status=502, text="<h1>Bad gateway</h1>"),
            errors.ServerError,
            "502 Unknown: <h1>Bad gateway</h1>",
        ),
        (web.Response(status=403, body=b"\xff" * 9000), errors.ForbiddenError, "403 Unknown: \ufffd{500}$"),
        (web.json_response({"kind": "Other"}, status=404), errors.NotFoundError, '404 Unknown: {"kind": "Other"}'),
        (web.json_response({"kind": "Status", "code": "x"}, status=503), errors.ApiError, "0 Unknown"),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), errors.ApiError, "302 Unknown: "),
    ],
    ids=["a proxy's page", "no text", "no Status", "a Status without a code", "a way elsewhere"],
)
async def test_what_a_proxy_in_between_refuses_is_told_by_its_code(
    answer: web.Response, expected: type[errors.ApiError], words: str
) -> None:
    async with answering(answer) as client:
        with pytest.raises(expected, match=words) as caught:
            await client.create(CONFIG_MAPS, config_map())
        assert type(caught.value) is expected


async def test_a_log_is_text_whatever_was_printed() -> None:
    async with answering(web.Response(body=b"one\ntwo \xff\n")) as client:
        assert await client.pod_log(KEY, "main", 2) == "one\ntwo \ufffd\n"


async def test_a_client_that_is_closed_sends_nothing(api: Api) -> None:
    async with Client(api.config, "tester") as client:
        await client.list(Scope(CONFIG_MAPS))
    await client.connection.close()
    with pytest.raises(RuntimeError, match="used outside of its `async with`"):
        await client.list(Scope(CONFIG_MAPS))


def test_a_system_without_some_options_of_a_socket_has_sockets_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    with socket.socket() as made:
        be_attentive(made)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3


@contextlib.asynccontextmanager
async def answering(response: web.Response) -> AsyncIterator[Client]:
    """Give a client of a server that has one answer to everything."""

    async def answer(_: web.Request) -> web.Response:
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server, Client(Config(str(server.make_url("")), Fixed()), "tester") as client:
        yield client
