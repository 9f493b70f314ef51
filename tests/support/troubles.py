"""All that can happen between a manager and an API server, each to be gone through while the world changes."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from support.eventually import eventually
from support.family import CONFIG_MAPS, PARENTS
from support.mishaps import EXPIRED, EXPIRED_INSIDE, WRITING, Fault, Mishap
from support.stage import Stage

BLOWS = 20
LONGEST_PEACE = 0.2
Trouble = Callable[[Stage], AbstractAsyncContextManager[None]]


@contextlib.asynccontextmanager
async def watches_cut(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.cut_watches()
    yield
    stage.proxy.cut_watches()


@contextlib.asynccontextmanager
async def watches_cut_after_a_bookmark(stage: Stage) -> AsyncIterator[None]:
    for kind in (PARENTS, CONFIG_MAPS):
        stage.proxy.bookmark(kind.plural, str(stage.ledger.newest))
    yield
    stage.proxy.cut_watches()


@contextlib.asynccontextmanager
async def watches_ended(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.end_watches()
    yield
    stage.proxy.end_watches()


@contextlib.asynccontextmanager
async def watches_silent(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.freeze_watches()
    yield


@contextlib.asynccontextmanager
async def watches_silent_for_a_while(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.freeze_watches()
    yield
    stage.proxy.thaw()


@contextlib.asynccontextmanager
async def all_silent_for_a_while(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.freeze()
    asked = stage.proxy.requests["GET"]
    yield
    await eventually(lambda: stage.proxy.requests["GET"] > asked)
    stage.proxy.thaw()


@contextlib.asynccontextmanager
async def away_for_a_while(stage: Stage) -> AsyncIterator[None]:
    await stage.proxy.stop()
    yield
    await stage.proxy.start()


@contextlib.asynccontextmanager
async def away_and_forgetful(stage: Stage) -> AsyncIterator[None]:
    await stage.proxy.stop()
    yield
    await stage.forget(EXPIRED_INSIDE)
    await stage.proxy.start()


def expiring(mishap: Mishap) -> Trouble:
    """Forget all that nobody could hear of."""

    @contextlib.asynccontextmanager
    async def trouble(stage: Stage) -> AsyncIterator[None]:
        stage.proxy.freeze_watches()
        yield
        await stage.forget(mishap)
        stage.proxy.cut_watches()
        await eventually(lambda: len(stage.proxy.struck) >= 2)

    return trouble


@contextlib.asynccontextmanager
async def watches_garbled(stage: Stage) -> AsyncIterator[None]:
    for kind in (PARENTS, CONFIG_MAPS):
        stage.proxy.send(kind.plural, b'{"type":"ADDED","object":{"met\n\xff\n{"type":"NEWS","object":{}}\n')
    yield
    for kind in (PARENTS, CONFIG_MAPS):
        stage.proxy.send(kind.plural, Mishap(500, "InternalError").event)


def failing(*faults: tuple[str, str, int, Mishap]) -> Trouble:
    """Let all of these strike until they are used up; watches begin anew, so that they are met too."""

    @contextlib.asynccontextmanager
    async def trouble(stage: Stage) -> AsyncIterator[None]:
        striking = [Fault(*fault) for fault in faults]
        stage.proxy.faults += striking
        stage.proxy.cut_watches()
        yield
        await eventually(lambda: all(fault.times == 0 for fault in striking))

    return trouble


def failing_writes(share: float, mishaps: Sequence[Mishap], *, ends: bool) -> Trouble:
    @contextlib.asynccontextmanager
    async def trouble(stage: Stage) -> AsyncIterator[None]:
        stage.proxy.fail_writes(share, mishaps)
        yield
        await eventually(lambda: len(stage.proxy.struck) >= 5)
        if ends:
            stage.proxy.fail_writes(0)

    return trouble


@contextlib.asynccontextmanager
async def all_at_once(stage: Stage) -> AsyncIterator[None]:
    stage.proxy.fail_writes(0.2)
    blows = asyncio.create_task(_strike(stage, random.Random(1)))  # noqa: S311 to be repeated, not to be secret
    try:
        yield
        await blows
    finally:
        blows.cancel()
    stage.proxy.thaw()


async def _strike(stage: Stage, chance: random.Random) -> None:
    for _ in range(BLOWS):
        await asyncio.sleep(chance.uniform(0.0, LONGEST_PEACE))
        match chance.randint(1, 5):
            case 1:
                stage.proxy.cut_watches()
            case 2:
                stage.proxy.end_watches()
            case 3:
                stage.proxy.freeze_watches()
            case 4:
                await stage.forget(chance.choice((EXPIRED, EXPIRED_INSIDE)))
            case 5:
                await stage.proxy.stop()
                await stage.proxy.start()


BROKEN = Mishap(500, "InternalError")
BUSY = Mishap(429, "TooManyRequests", {"Retry-After": "0"})
TROUBLES: dict[str, Trouble] = {
    "watches are cut": watches_cut,
    "watches are cut after a bookmark": watches_cut_after_a_bookmark,
    "watches end in order": watches_ended,
    "watches fall silent": watches_silent,
    "watches fall silent for a while": watches_silent_for_a_while,
    "all falls silent for a while": all_silent_for_a_while,
    "the server is away for a while": away_for_a_while,
    "watches say what nobody understands": watches_garbled,
    "the server is away for a while and has forgotten": away_and_forgetful,
    "watches have expired": expiring(EXPIRED),
    "watches have expired, and begin well": expiring(EXPIRED_INSIDE),
    "lists and watches fail": failing(("GET", "/parents", 12, BROKEN), ("GET", "/configmaps", 12, BUSY)),
    "statuses conflict": failing(("PATCH", "/status", 24, WRITING["409"])),
    "deletes conflict": failing(("DELETE", "/configmaps", 24, WRITING["409"])),
    "creates find what nobody else sees": failing(("POST", "/configmaps", 24, Mishap(409, "AlreadyExists"))),
    **{f"half of the writes: {name}": failing_writes(0.5, [WRITING[name]], ends=True) for name in WRITING},
    "all of it at once": all_at_once,
    "a fifth of the writes, for ever": failing_writes(0.2, list(WRITING.values()), ends=False),
}
