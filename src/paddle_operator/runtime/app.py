"""The HTTP interface of a runtime server: see docs/runtime-server.md."""

import asyncio
import hmac
import logging
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from paddle_operator.engines.operations import Order, is_id
from paddle_operator.engines.runtime import OrderError
from paddle_operator.runtime.jobs import Jobs, OtherOrderError
from paddle_operator.runtime.report import Reporter

LARGEST_BODY = 1 << 20
LONGEST_BODY_WAIT = 30.0
OPEN_TO_ALL = {"/healthz", "/readyz"}
log = logging.getLogger(__name__)


def answer(content: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(content) + b"\n", status=status, content_type="application/json")


def refusal(status: int, sentence: str) -> web.Response:
    return answer({"error": sentence}, status)


def is_allowed(header: str, token_file: Path) -> bool:
    """Compare in a time that tells nothing; the file is read each time, so that the token can be changed."""
    try:
        token = token_file.read_bytes().strip()
    except OSError:
        return False
    given = header.encode(errors="surrogateescape")
    return bool(token) and hmac.compare_digest(given, b"Bearer " + token)


NO_ORDER = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
REFUSED = (web.HTTPException, *NO_ORDER, OrderError, OtherOrderError, OSError)


def refused(error: Exception) -> web.Response:
    """Say in a sentence what is wrong with a request; no sentence repeats what may be secret."""
    match error:
        case web.HTTPException():
            status, sentence = error.status, error.reason
        case msgspec.DecodeError():
            status, sentence = 400, f"this is no order: {str(error)[:300]}"
        case OrderError():
            status, sentence = 422, str(error)
        case OtherOrderError():
            status, sentence = 409, "this id belongs to another order: take another id"
        case TimeoutError():
            status, sentence = 408, "the order did not come in time"
        case OSError():
            status, sentence = 507, f"the order cannot be kept: {error.strerror}"
        case UnicodeDecodeError():
            status, sentence = 400, "this is no order: it is not UTF-8"
        case _:
            status, sentence = 400, "this is no order: it is nested too deeply"
    return refusal(status, sentence)


def guard(token_file: Path) -> Middleware:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_TO_ALL and not is_allowed(request.headers.get("Authorization", ""), token_file):
            return refusal(401, "give the data set's token: Authorization: Bearer TOKEN")
        try:
            return await handler(request)
        except REFUSED as error:
            return refused(error)

    return guarded


class App:
    """The handlers, each a method of the interface."""

    def __init__(self, jobs: Jobs, reporter: Reporter) -> None:
        self._jobs = jobs
        self._reporter = reporter

    def application(self, token_file: Path) -> web.Application:
        app = web.Application(middlewares=[guard(token_file)], client_max_size=LARGEST_BODY)
        app.add_routes(
            [
                web.get("/healthz", self.alive),
                web.get("/readyz", self.ready),
                web.get("/v1/status", self.status),
                web.get("/v1/watch", self.watch),
                web.get("/v1/operations", self.operations),
                web.put("/v1/operations/{id}", self.give),
                web.get("/v1/operations/{id}", self.operation),
                web.delete("/v1/operations/{id}", self.cancel),
            ]
        )
        return app

    async def alive(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(self, _: web.Request) -> web.Response:
        report = self._reporter.report()
        return web.Response(text="ok\n") if report.mounted else web.Response(status=503, text=f"{report.message}\n")

    async def status(self, _: web.Request) -> web.Response:
        return answer(self._reporter.report())

    async def operations(self, _: web.Request) -> web.Response:
        return answer(self._jobs.all())

    async def operation(self, request: web.Request) -> web.Response:
        known = self._jobs.get(request.match_info["id"])
        return answer(known) if known else refusal(404, "there is no such operation")

    async def cancel(self, request: web.Request) -> web.Response:
        known = self._jobs.cancel(request.match_info["id"])
        return answer(known) if known else refusal(404, "there is no such operation")

    async def give(self, request: web.Request) -> web.Response:
        operation = request.match_info["id"]
        if not is_id(operation):
            return refusal(400, "an id has at most 127 lower-case letters, digits, dashes and single dots")
        async with asyncio.timeout(LONGEST_BODY_WAIT):
            body = await request.read()
        known, is_new = self._jobs.give(operation, msgspec.json.decode(body, type=Order))
        return answer(known, 202 if is_new else 200)

    async def watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        try:
            async for report in self._reporter.changes():
                await response.write(b"\n" if report is None else msgspec.json.encode(report) + b"\n")
        except ConnectionError:
            log.debug("watch ended peer=%s", request.remote)
        return response
