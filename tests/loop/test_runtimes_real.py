"""The manager's side against the runtime server itself, with an engine that only pretends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control.calls import Call, CallError
from paddle_operator.controllers.runtimes import Endpoint, Runtimes
from paddle_operator.controllers.secrets import Read, Secrets
from paddle_operator.controllers.words import word_of
from paddle_operator.desired.sampleset import syncing, warming
from paddle_operator.desired.sampleset.runtimes import Standing, Word
from paddle_operator.desired.sampleset.sources import Origin
from paddle_operator.engines.operations import Order, Progress, Result, SyncOrder
from paddle_operator.engines.reports import Cache, Data, Report
from paddle_operator.engines.runtime import OperationError, Told
from paddle_operator.runtime.app import App
from paddle_operator.runtime.jobs import Jobs
from paddle_operator.runtime.report import Bell, Reporter
from paddle_operator.runtime.server import Settings, running
from paddle_operator.runtime.spool import Spool
from support.eventually import eventually

SET, POD = Key("default", "imagenet"), "imagenet-runtime-0"
SECRET = Key("default", "keys")
SYNC = Call(f"default/{POD}", "sync-1-0", syncing.order(Origin("s3://bucket.example.com/x/", "x", SECRET)), SECRET)
WARMUP = Call(f"default/{POD}", "warmup-1-0-0", warming.order(0, 2))
CLEAR = Call(f"default/{POD}", "clear-1-0", {"type": "clear"})


class Pretender:
    """Does nothing, and remembers the keys that it was given; warm-ups find no room."""

    def __init__(self) -> None:
        self.keys: list[tuple[str, str]] = []

    def check(self, order: Order) -> None:
        """Take all."""

    async def run(self, order: Order, told: Told) -> tuple[Result, str]:
        told(Progress(files=3, total_files=3))
        if isinstance(order, SyncOrder) and order.credentials is not None:
            self.keys.append((order.credentials.access_key, order.credentials.secret_key))
        if order.__struct_config__.tag == "warmup":
            raise OperationError("no room", Result(files=3, missing_files=2))
        return Result(files=3), ""

    async def tend(self) -> None:
        """Have nothing to do."""

    def observe(self) -> Report:
        return Report("juicefs", "0.14.2", mounted=True, data=Data(300, 3), cache=Cache(used=7, capacity=10, free=3))


@contextlib.asynccontextmanager
async def serving(directory: Path, engine: Pretender) -> AsyncIterator[int]:
    """Run a runtime server on a spool, until it is killed."""
    token, spool, bell = directory / "token", Spool(directory / "spool"), Bell()
    token.write_text("token\n")
    with spool.held():
        jobs = Jobs(engine, spool, bell.ring)
        reporter = Reporter(engine, jobs.all, bell)
        jobs.resume()
        async with running(App(jobs, reporter), Settings(token, directory / "spool", 0, "127.0.0.1")) as port:
            working = [asyncio.create_task(jobs.work()), asyncio.create_task(reporter.look())]
            try:
                yield port
            finally:
                for task in working:
                    task.cancel()
                await asyncio.gather(*working, return_exceptions=True)
        reporter.close()


@contextlib.asynccontextmanager
async def listening(port: int, token: str = "token") -> AsyncIterator[Runtimes]:  # noqa: S107  # nobody's
    secrets = Secrets()
    now = asyncio.get_running_loop().time()
    secrets._read[SECRET] = Read(now, {"access-key": "mine", "secret-key": "hush"}, "")
    runtimes = Runtimes(secrets)
    runtimes.follow(SET, {POD: Endpoint(f"http://127.0.0.1:{port}", "uid", token)})
    task = asyncio.create_task(runtimes.run(lambda _key, _after: None))
    await asyncio.sleep(0)
    try:
        yield runtimes
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def word(runtimes: Runtimes) -> Word:
    return word_of(runtimes.heard(SET, POD)) or Word(mounted=False)


async def test_orders_are_carried_out_and_reported(tmp_path: Path) -> None:
    engine = Pretender()
    async with serving(tmp_path, engine) as port, listening(port) as runtimes:
        await eventually(lambda: word(runtimes).mounted)
        assert (word(runtimes).data_bytes, word(runtimes).cached_bytes, word(runtimes).free_bytes) == (300, 7, 3)
        for call in (SYNC, WARMUP, CLEAR):
            await runtimes.call(call)
        await eventually(lambda: len(word(runtimes).works) == 3 and word(runtimes).works[CLEAR.id].standing.is_over)
        works = word(runtimes).works
        await runtimes.call(SYNC)
    assert [works[call.id].standing for call in (SYNC, WARMUP, CLEAR)] == [
        Standing.SUCCEEDED, Standing.FAILED, Standing.SUCCEEDED
    ]  # fmt: skip
    assert (works[WARMUP.id].missing_files, works[WARMUP.id].message) == (2, "no room")
    assert works[SYNC.id].ended is not None
    assert engine.keys == [("mine", "hush")]
    assert b"hush" not in b"".join(path.read_bytes() for path in (tmp_path / "spool").glob("*.json"))


async def test_what_the_server_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    async with serving(tmp_path, Pretender()) as port, listening(port) as runtimes:
        await runtimes.call(CLEAR)
        with pytest.raises(CallError, match="it answers 409: this id belongs to another order: take another id"):
            await runtimes.call(Call(CLEAR.server, CLEAR.id, WARMUP.order))
        with pytest.raises(CallError, match="it answers 400: this is no order"):
            await runtimes.call(Call(CLEAR.server, "clear-2", {"type": "dance"}))
    async with serving(tmp_path, Pretender()) as port, listening(port, "wrong") as runtimes:
        with pytest.raises(CallError, match="it answers 401: give the data set's token"):
            await runtimes.call(CLEAR)
