"""The HTTP interface on an engine that only pretends: who is let in, and what each answer is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from paddle_operator.runtime.app import App, is_allowed
from paddle_operator.runtime.jobs import Jobs
from paddle_operator.runtime.report import Bell, Reporter
from paddle_operator.runtime.spool import Spool
from support.pretender import Pretender

HEADERS = {"Authorization": "Bearer right"}


@contextlib.asynccontextmanager
async def client(directory: Path) -> AsyncIterator[tuple[TestClient[web.Request, web.Application], Pretender]]:
    token, engine, bell = directory / "token", Pretender(), Bell()
    token.write_text("right\n")
    jobs = Jobs(engine, Spool(directory), bell.ring)
    reporter = Reporter(engine, jobs.all, bell)
    looking = asyncio.create_task(reporter.look())
    async with TestClient(TestServer(App(jobs, reporter).application(token))) as made:
        yield made, engine
    looking.cancel()
    reporter.close()


@pytest.mark.parametrize(
    "header", ["", "right", "bearer right", "Bearer", "Bearer ", "Bearer righ", "Bearer right ", "Bearer ä\udcff"]
)
def test_only_the_whole_token_is_the_token(tmp_path: Path, header: str) -> None:
    (tmp_path / "token").write_text("right\n")
    assert is_allowed("Bearer right", tmp_path / "token")
    assert not is_allowed(header, tmp_path / "token")


def test_without_a_token_nobody_is_let_in(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    assert not is_allowed("Bearer ", tmp_path / "empty")
    assert not is_allowed("Bearer ", tmp_path / "missing")


async def test_an_order_is_taken_once_and_shown(tmp_path: Path) -> None:
    async with client(tmp_path) as (http, _):
        url, order = "/v1/operations/a", b'{"type":"rmr","paths":["x"]}'
        answers = [await http.put(url, data=order, headers=HEADERS) for _ in range(2)]
        assert [answer.status for answer in answers] == [202, 200]
        assert (await http.put(url, data=b'{"type":"clear"}', headers=HEADERS)).status == 409
        shown = await (await http.get(url, headers=HEADERS)).json()
        assert (shown["id"], shown["type"], shown["state"]) == ("a", "rmr", "Queued")
        assert [one["id"] for one in await (await http.get("/v1/operations", headers=HEADERS)).json()] == ["a"]
        cancelled = await (await http.delete(url, headers=HEADERS)).json()
        assert cancelled["state"] == "Cancelled"


async def test_a_refusal_of_the_engine_is_told_in_its_words(tmp_path: Path) -> None:
    async with client(tmp_path) as (http, engine):
        engine.refuses = "this cannot be done: do that"
        answer = await http.put("/v1/operations/a", data=b'{"type":"clear"}', headers=HEADERS)
        assert (answer.status, await answer.json()) == (422, {"error": "this cannot be done: do that"})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("POST", "/v1/status", 405), ("GET", "/v1/operations/a", 404), ("GET", "/", 404)],
)
async def test_what_there_is_not_is_refused_as_json(tmp_path: Path, method: str, path: str, status: int) -> None:
    async with client(tmp_path) as (http, _):
        answer = await http.request(method, path, headers=HEADERS)
        assert (answer.status, list(await answer.json())) == (status, ["error"])
        assert (await http.request(method, path)).status == 401


async def test_a_full_disk_refuses_new_orders_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with client(tmp_path) as (http, _):
        monkeypatch.setattr(Spool, "save", full)
        answer = await http.put("/v1/operations/a", data=b'{"type":"clear"}', headers=HEADERS)
        assert (answer.status, (await answer.json())["error"]) == (
            507, "the order cannot be kept: No space left on device",
        )  # fmt: skip
        assert (await http.get("/v1/operations/a", headers=HEADERS)).status == 404
        assert (await http.get("/v1/status", headers=HEADERS)).status == 200
