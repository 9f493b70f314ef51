"""The manager's side of the runtime servers: a stream of reports from each, and the orders that they are given."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

import aiohttp
import msgspec

from paddle_operator.api.manifest import Key
from paddle_operator.control.calls import Call, CallError, RefusedError
from paddle_operator.control.controller import SETTLE, Tell
from paddle_operator.controllers.secrets import Secrets, Values
from paddle_operator.engines.operations import Operation, OperationState
from paddle_operator.engines.reports import Report
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.watch import Lines

log = logging.getLogger(__name__)
# A server that starts is asked for before it listens: what it has to say must not wait long for the next time.
BACKOFF = Backoff(first=0.5, longest=3.0)
# Figures change all the time; that an operation began or ended is news.
CALM = 5.0
# For each server: a set of a thousand has a large status, and always news.
CROWD = 0.005
# A heartbeat and a half: a status that is half a minute old is too old.
SILENCE = 15.0
STREAM = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=SILENCE)
CALL = aiohttp.ClientTimeout(total=10.0, sock_connect=5.0)
LONGEST_REPORT = 8 << 20
LONGEST_WORDS = 300
MOST_ANSWERS = 100
# A stream may end once without anything being wrong.
TROUBLED = 2
OK = (200, 202)
# The same order again is refused again; other answers may be of a proxy, or pass.
REFUSED = (400, 409, 413, 422)
NOT_FOUND = 404


@dataclass(frozen=True)
class Endpoint:
    """Where a server is; another pod of the same name is another server."""

    url: str
    uid: str
    token: str = field(repr=False)


@dataclass
class Server:
    """A server that is listened to: what it last said, and what is wrong with it."""

    endpoint: Endpoint
    task: asyncio.Task[None] | None = None
    report: Report | None = None
    trouble: str = ""
    failures: int = 0
    answers: dict[str, Operation] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)


class ServerError(Exception):
    """A server says what nobody should, or no."""


class Runtimes:
    """All of it can be lost: servers say again how they stand, and take the same order twice."""

    def __init__(self, secrets: Secrets, backoff: Backoff | None = None, calm: float | None = None) -> None:
        self._secrets = secrets
        self._calm = calm
        self._backoff = backoff or BACKOFF
        self._servers: dict[Key, dict[str, Server]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._group: asyncio.TaskGroup | None = None
        self._tell: Tell = lambda _key, _after: None

    async def run(self, tell: Tell) -> None:
        """Listen to all servers that are to be followed, for as long as this runs."""
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session,
            asyncio.TaskGroup() as group,
        ):
            self._session, self._group, self._tell = session, group, tell
            for sample_set, servers in self._servers.items():
                for server in servers.values():
                    self._start(sample_set, server)
            try:
                await asyncio.Event().wait()
            finally:
                self._session = self._group = None

    def follow(self, sample_set: Key, endpoints: Mapping[str, Endpoint]) -> None:
        """Listen to these servers of a set, by the names of their pods, and to no others."""
        known = self._servers.setdefault(sample_set, {})
        for pod in [pod for pod, server in known.items() if endpoints.get(pod) != server.endpoint]:
            if (task := known.pop(pod).task) is not None:
                task.cancel()
        for pod, endpoint in endpoints.items():
            if pod not in known:
                known[pod] = Server(endpoint)
                self._start(sample_set, known[pod])
        if not known:
            del self._servers[sample_set]

    def forget(self, sample_set: Key) -> None:
        self.follow(sample_set, {})

    def _start(self, sample_set: Key, server: Server) -> None:
        if self._group is not None:
            server.task = self._group.create_task(self._listen(sample_set, server))

    def heard(self, sample_set: Key, pod: str) -> Server | None:
        return self._servers.get(sample_set, {}).get(pod)

    async def _listen(self, sample_set: Key, server: Server) -> None:
        while True:
            try:
                async with contextlib.aclosing(self._lines(server.endpoint)) as lines:
                    async for line in lines:
                        self._take(sample_set, server, line)
                problem = "the stream ended"
            except (aiohttp.ClientError, TimeoutError, OSError, ServerError) as error:
                problem = str(error) or type(error).__name__
            server.failures += 1
            if server.failures == TROUBLED:
                server.trouble = problem[:LONGEST_WORDS]
                self._tell(sample_set, SETTLE)
            delay = self._backoff.after(server.failures)
            log.debug("stream interrupted set=%s url=%s retry_in=%.1fs", sample_set, server.endpoint.url, delay)
            await asyncio.sleep(delay)

    async def _lines(self, endpoint: Endpoint) -> AsyncGenerator[bytes, None]:
        session, lines, length = self._opened(), Lines(), 0
        async with session.get(
            f"{endpoint.url}/v1/watch", headers=proof(endpoint), timeout=STREAM, allow_redirects=False
        ) as response:
            if response.status not in OK:
                raise ServerError(f"it answers {response.status}")
            async for chunk in response.content.iter_any():
                length = len(chunk) if b"\n" in chunk else length + len(chunk)
                if length > LONGEST_REPORT:
                    raise ServerError("its report is too long")
                for line in lines.feed(chunk):
                    yield line

    def _take(self, sample_set: Key, server: Server, line: bytes) -> None:
        try:
            report = calmed(msgspec.json.decode(line, type=Report))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ServerError("it reports what nobody can read") from None
        is_news = server.report is None or bool(server.trouble) or news(server.report) != news(report)
        changed = server.report != report
        server.report, server.trouble, server.failures = report, "", 0
        if is_news or changed:
            crowd = CROWD * len(self._servers.get(sample_set, ()))
            self._tell(sample_set, (SETTLE if is_news else self._calm or CALM) + crowd)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise ServerError("the manager is not at work")
        return self._session

    async def call(self, call: Call) -> None:
        """Give an order, or cancel it; the keys that go with it are added here, and leave no trace."""
        server = self._server(call.server)
        order = {**call.order, **self._credentials(call)}
        try:
            session = self._opened()
            async with session.request(
                "PUT" if order else "DELETE",
                f"{server.endpoint.url}/v1/operations/{call.id}",
                json=order or None,
                headers=proof(server.endpoint),
                timeout=CALL,
                allow_redirects=False,
            ) as response:
                self._note(server, call, response.status, await whole(response))
        except (aiohttp.ClientError, TimeoutError, OSError, ServerError) as error:
            server.trouble = f"{call.id}: {str(error) or type(error).__name__}"[:LONGEST_WORDS]
            raise CallError(f"{call.server}: {server.trouble}") from error

    def _server(self, name: str) -> Server:
        namespace, _, pod = name.partition("/")
        for sample_set, servers in self._servers.items():
            if sample_set.namespace == namespace and pod in servers:
                return servers[pod]
        raise CallError(f"{name} is not listened to any more")

    def _credentials(self, call: Call) -> dict[str, Values]:
        if call.secret is None:
            return {}
        values = self._secrets.known(call.secret)
        if values is None:
            raise CallError(f"{call.server}: Secret {call.secret} for {call.id} is not known")
        keys = {"accessKey": values.get("access-key", ""), "secretKey": values.get("secret-key", "")}
        return {"credentials": keys} if any(keys.values()) else {}

    def _note(self, server: Server, call: Call, status: int, body: bytes) -> None:
        for known in (server.answers, server.refusals):
            if len(known) >= MOST_ANSWERS:
                known.clear()
        if not call.order and status == NOT_FOUND:
            server.answers[call.id] = Operation(call.id, "", OperationState.CANCELLED)
            return
        server.refusals.pop(call.id, None)
        if status in REFUSED:
            server.refusals[call.id] = sentence(body)
            raise RefusedError(f"{call.server}: {call.id}: it answers {status}: {sentence(body)}")
        if status not in OK:
            raise ServerError(f"it answers {status}: {sentence(body)}")
        try:
            operation = msgspec.json.decode(body, type=Operation)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ServerError("its answer cannot be read") from None
        server.answers[call.id] = operation
        if not server.failures:
            server.trouble = ""


def proof(endpoint: Endpoint) -> dict[str, str]:
    return {"Authorization": f"Bearer {endpoint.token}"}


async def whole(response: aiohttp.ClientResponse) -> bytes:
    """Give an answer's body, unless it has no end."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > LONGEST_REPORT:
            raise ServerError("its answer is too long")
    return bytes(body)


class Refusal(msgspec.Struct):
    error: str


def sentence(body: bytes) -> str:
    """Give what a server says of a request that it refuses; a proxy in between says anything."""
    try:
        text = msgspec.json.decode(body, type=Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body[:LONGEST_WORDS].decode(errors="replace")
    return "".join(letter if letter.isprintable() else " " for letter in text[:LONGEST_WORDS])


def calmed(report: Report) -> Report:
    """Give free space in steps of a few thousandths of the disk: others write there all the time."""
    step = 1 << max(report.cache.capacity.bit_length() - 9, 0)
    cache = msgspec.structs.replace(report.cache, free=report.cache.free // step * step)
    return msgspec.structs.replace(report, cache=cache)


def news(report: Report) -> object:
    """Give what is worth a look at once when it changes."""
    operations = [(found.id, found.state, found.needs_credentials) for found in report.operations]
    return report.mounted, report.cache.identity, operations
