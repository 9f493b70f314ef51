"""The manager's side of runtime servers: what it hears, what it orders, and what it does with those that misbehave."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest
from aiohttp import web

from paddle_operator.api.manifest import Key
from paddle_operator.control.calls import Call, CallError
from paddle_operator.controllers import runtimes
from paddle_operator.controllers.runtimes import Endpoint, Runtimes, Server
from paddle_operator.controllers.secrets import Secrets
from paddle_operator.engines.operations import OperationState
from paddle_operator.kube.backoff import Backoff
from support.closing import close_doors
from support.eventually import eventually
from support.fakeruntime import FakeRuntime, Spool
from support.mishaps import reset

SET = Key("default", "imagenet")
POD = "imagenet-runtime-0"
ORDER = Call(f"default/{POD}", "warmup-1", {"type": "warmup"})


class Listener:
    """Runs the manager's side, and remembers which sets it was told to look at."""

    def __init__(self) -> None:
        self.runtimes = Runtimes(Secrets(), Backoff(0.005, 0.01))
        self.told: list[float] = []

    def follow(self, port: int, token: str = "token", uid: str = "uid-1") -> None:  # noqa: S107  # nobody's
        self.runtimes.follow(SET, {POD: Endpoint(f"http://127.0.0.1:{port}", uid, token)})

    @property
    def server(self) -> Server:
        found = self.runtimes.heard(SET, POD)
        assert found is not None
        return found


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    made = Listener()
    task = asyncio.create_task(made.runtimes.run(lambda _key, after: made.told.append(after)))
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def fake() -> AsyncIterator[FakeRuntime]:
    made = FakeRuntime(Spool(), lambda: "token", {})
    await made.start()
    yield made
    await made.stop()


@contextlib.asynccontextmanager
async def answering(handler: Callable[[web.BaseRequest], object]) -> AsyncIterator[int]:
    """Serve what no runtime server would say."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        response = handler(request)
        if asyncio.iscoroutine(response):
            response = await response
        assert isinstance(response, web.StreamResponse)
        return response

    server = web.Server(handle, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await close_doors(runner)
        for connection in server.connections:
            reset(connection.transport)
        await runner.cleanup()


def soon(after: float) -> bool:
    return after < runtimes.CALM


async def test_a_report_is_heard_at_once_and_news_sooner_than_figures(listener: Listener, fake: FakeRuntime) -> None:
    listener.follow(fake.port)
    await eventually(lambda: listener.server.report is not None)
    assert [soon(after) for after in listener.told] == [True]
    fake.spool.cached = 5
    fake.change()
    await eventually(lambda: len(listener.told) == 2)
    assert not soon(listener.told[1])
    fake.mounted = False
    fake.change()
    await eventually(lambda: len(listener.told) == 3)
    assert soon(listener.told[2])
    fake.change()
    fake.mounted = True
    fake.change()
    await eventually(lambda: listener.server.report is not None and listener.server.report.mounted)
    assert len(listener.told) == 4


async def test_servers_named_before_the_work_began_are_listened_to(fake: FakeRuntime) -> None:
    made = Listener()
    made.follow(fake.port)
    task = asyncio.create_task(made.runtimes.run(lambda _key, _after: None))
    await eventually(lambda: made.server.report is not None)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_order_is_given_and_its_answer_noted(listener: Listener, fake: FakeRuntime) -> None:
    listener.follow(fake.port)
    await listener.runtimes.call(ORDER)
    await listener.runtimes.call(ORDER)
    assert list(fake.spool.operations) == ["warmup-1"]
    assert listener.server.answers["warmup-1"].state is OperationState.RUNNING


async def test_the_same_id_for_another_order_is_refused_in_the_servers_words(
    listener: Listener, fake: FakeRuntime
) -> None:
    listener.follow(fake.port)
    await listener.runtimes.call(ORDER)
    with pytest.raises(CallError, match="it answers 409: this id has another order"):
        await listener.runtimes.call(Call(ORDER.server, ORDER.id, {"type": "clear"}))
    assert listener.server.refusals == {ORDER.id: "this id has another order"}
    assert not listener.server.trouble
    await listener.runtimes.call(ORDER)
    assert not listener.server.refusals


async def test_an_operation_is_cancelled_and_one_that_there_is_not_counts_as_such(
    listener: Listener, fake: FakeRuntime
) -> None:
    listener.follow(fake.port)
    await listener.runtimes.call(ORDER)
    for name in (ORDER.id, "never-given"):
        await listener.runtimes.call(Call(ORDER.server, name, {}))
        assert listener.server.answers[name].state is OperationState.CANCELLED
    assert fake.spool.operations[ORDER.id].state is OperationState.CANCELLED


async def test_who_has_not_the_token_hears_and_orders_nothing(listener: Listener, fake: FakeRuntime) -> None:
    listener.follow(fake.port, token="wrong")  # noqa: S106  # nobody's
    await eventually(lambda: listener.server.trouble == "it answers 401")
    assert listener.server.report is None
    with pytest.raises(CallError, match="401"):
        await listener.runtimes.call(ORDER)
    assert fake.spool.operations == {}


async def test_a_stream_that_breaks_is_opened_again_and_what_was_said_stays(
    listener: Listener, fake: FakeRuntime
) -> None:
    listener.follow(fake.port)
    await eventually(lambda: listener.server.report is not None)
    await fake.stop()
    await eventually(lambda: listener.server.trouble)
    assert listener.server.report is not None
    await fake.start()
    await eventually(lambda: not listener.server.trouble and fake.streams >= 2)


async def test_another_pod_of_the_same_name_is_another_server(listener: Listener, fake: FakeRuntime) -> None:
    listener.follow(fake.port)
    await eventually(lambda: listener.server.report is not None)
    fake.mounted = False
    listener.follow(fake.port, uid="uid-2")
    assert listener.server.report is None
    await eventually(lambda: listener.server.report is not None and not listener.server.report.mounted)
    listener.runtimes.forget(SET)
    assert listener.runtimes.heard(SET, POD) is None
    with pytest.raises(CallError, match="is not listened to any more"):
        await listener.runtimes.call(ORDER)


async def endless(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b"x" * 65536)
    return response


MISBEHAVIOUR: dict[str, tuple[Callable[[web.BaseRequest], object], str]] = {
    "a line without end": (endless, "its report is too long"),
    "no JSON": (lambda _: web.Response(body=b"hello\n"), "it reports what nobody can read"),
    "no UTF-8": (lambda _: web.Response(body=b'{"message": "\xff"}\n'), "it reports what nobody can read"),
    "JSON of another shape": (lambda _: web.Response(body=b'{"cache": 5}\n'), "it reports what nobody can read"),
    "elsewhere": (lambda _: web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), "it answers 302"),
    "an error": (lambda _: web.Response(status=500), "it answers 500"),
    "nothing": (lambda _: web.Response(), "the stream ended"),
}


@pytest.mark.parametrize(("handler", "trouble"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
async def test_a_server_that_misbehaves_is_told_of_and_harms_nobody(
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    handler: Callable[[web.BaseRequest], object],
    trouble: str,
) -> None:
    monkeypatch.setattr(runtimes, "LONGEST_REPORT", 1 << 20)
    async with answering(handler) as port:
        listener.follow(port)
        await eventually(lambda: listener.server.trouble == trouble)
        assert listener.server.report is None
        with pytest.raises(CallError):
            await listener.runtimes.call(ORDER)
        listener.runtimes.forget(SET)


async def test_a_server_that_never_answers_is_given_up(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The original had no time limit, and waited with all other sets for one black hole."""
    monkeypatch.setattr(runtimes, "CALL", aiohttp.ClientTimeout(total=0.05))

    async def silent(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    async with answering(silent) as port:
        listener.follow(port)
        with pytest.raises(CallError, match="TimeoutError"):
            await listener.runtimes.call(ORDER)


async def test_an_order_whose_keys_are_not_known_is_not_given(listener: Listener, fake: FakeRuntime) -> None:
    listener.follow(fake.port)
    order = {"type": "sync", "source": "s3://bucket.example.com"}
    with pytest.raises(CallError, match="Secret default/keys for sync-1 is not known"):
        await listener.runtimes.call(Call(ORDER.server, "sync-1", order, Key("default", "keys")))
    assert fake.spool.operations == {}
