"""Asking a container whether it has started, is ready, and still lives."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.node import commands
from paddle_operator.embedded.node.commands import Inside

log = logging.getLogger(__name__)
FINE = range(200, 400)
EAGER = 0.5


class UnknownPortError(Exception):
    """A probe names a port that its container does not."""


@dataclass(frozen=True)
class Subject:
    """The container that is asked: its address, its declaration, and the way into it."""

    address: str
    container: Manifest
    inside: Inside


@dataclass(frozen=True)
class Pace:
    delay: float
    period: float
    timeout: float
    failures: int
    successes: int


def pace(probe: Manifest) -> Pace:
    return Pace(
        float(probe.get("initialDelaySeconds") or 0),
        float(probe.get("periodSeconds") or 10),
        float(probe.get("timeoutSeconds") or 1),
        int(probe.get("failureThreshold") or 3),
        int(probe.get("successThreshold") or 1),
    )


async def follow(probe: Manifest, subject: Subject, *, begin: bool, told: Callable[[bool], None]) -> None:
    """Ask again and again, and tell when the answer has changed for long enough; `begin` is what it is at first.

    What is waited for is asked for more often until it is there the first time.
    """
    how, holds = pace(probe), begin
    streak, pause = 0, how.period if begin else min(how.period, EAGER)
    await asyncio.sleep(how.delay)
    while True:
        answer = await ask(probe, subject, how.timeout)
        streak = 0 if answer in (None, holds) else streak + 1
        if streak >= (how.successes if answer else how.failures):
            holds, streak, pause = bool(answer), 0, how.period
            told(holds)
        await asyncio.sleep(pause)


async def ask(probe: Manifest, subject: Subject, seconds: float) -> bool | None:
    """Tell whether it is so; None for what cannot be asked, which a kubelet takes for no answer at all."""
    try:
        async with asyncio.timeout(seconds):
            return await _asked(probe, subject)
    except UnknownPortError as error:
        log.warning("not asked container=%s: %s", subject.container.get("name"), error)
        return None
    except (TimeoutError, OSError, aiohttp.ClientError, ValueError):
        return False


async def _asked(probe: Manifest, subject: Subject) -> bool:
    match probe:
        case {"httpGet": get}:
            return await _http(get, subject)
        case {"tcpSocket": tcp}:
            return await _tcp(tcp, subject)
        case {"grpc": grpc}:
            return await _tcp(grpc, subject)
        case {"exec": {"command": command}}:
            return await _exec(command, subject)
    return True


async def _http(get: Manifest, subject: Subject) -> bool:
    host = get.get("host") or subject.address
    scheme = str(get.get("scheme") or "HTTP").lower()
    url = f"{scheme}://{host}:{port_of(get['port'], subject.container)}/{str(get.get('path') or '').lstrip('/')}"
    headers = {header["name"]: header["value"] for header in get.get("httpHeaders") or []}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
        return answer.status in FINE


async def _tcp(tcp: Manifest, subject: Subject) -> bool:
    host = tcp.get("host") or subject.address
    _, writer = await asyncio.open_connection(host, port_of(tcp["port"], subject.container))
    writer.close()
    return True


async def _exec(command: list[str], subject: Subject) -> bool:
    process = await commands.begin(subject.inside, command, heard=False)
    try:
        return await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()


def port_of(port: int | str, container: Manifest) -> int:
    """Give a port by its number, or by the name that the container gives it."""
    if isinstance(port, int) or port.isdecimal():
        return int(port)
    for found in container.get("ports") or []:
        if found.get("name") == port:
            return int(found["containerPort"])
    raise UnknownPortError(f"it has no port of the name {port}")
