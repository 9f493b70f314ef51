"""Whatever happens between a manager and the real API server: all becomes as wanted, and nothing is done twice."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.api.manifest import Key, key_of, uid_of
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.kube import client as wire
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import EVENTS
from paddle_operator.kube.request import Preconditions, Propagation, Scope
from paddle_operator.kube.watch import Pace
from support import family, faultproxy, ledger
from support.eventually import eventually
from support.family import CONFIG_MAPS, FAMILY, PARENTS
from support.familymanager import MARK
from support.faultproxy import FaultProxy
from support.ledger import Ledger
from support.managing import QUICKLY, is_idle, managed, passes
from support.mishaps import EXPIRED, EXPIRED_INSIDE, WRITING, Fault, Mishap

pytestmark = pytest.mark.usefixtures("parents_collected")
PACE = Pace(watch_seconds=2, silence=0.5, settled=1.0, backoff=QUICKLY)
AT_FIRST = ("stays", "changes", "goes", "leaves", "returns", "shrinks", "loses")
IN_THE_END = {"stays", "changes", "returns", "shrinks", "loses", "comes"}


@dataclass(frozen=True)
class Stage:
    """`client` and `ledger` speak to the API server itself, the manager through the proxy."""

    namespace: str
    client: Client
    proxy: FaultProxy
    ledger: Ledger
    manager: Manager

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def bear(self, name: str) -> None:
        await self.client.create(PARENTS, family.parent(name, self.namespace, children=2, pets=2))

    async def change(self, name: str, **fields: object) -> None:
        await self.client.patch(PARENTS, self.key(name), {"spec": fields})

    async def end(self, name: str, propagation: Propagation = Propagation.BACKGROUND) -> None:
        await self.client.delete(PARENTS, self.key(name), Preconditions(), propagation)

    async def take(self, name: str) -> None:
        """Delete a member that is needed."""
        (member,) = [found for found in self.ledger.members if key_of(found).name == name]
        self.ledger.taken.add(uid_of(member))
        await self.client.delete(CONFIG_MAPS, key_of(member), Preconditions(uid_of(member)))


Trouble = Callable[[Stage], AbstractAsyncContextManager[None]]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY", QUICKLY)


@contextlib.asynccontextmanager
async def staged(kube: Cluster, namespace: str) -> AsyncIterator[Stage]:
    """Have families that are grown, and a manager at rest."""
    server = config.load(str(kube.paths.kubeconfig))
    async with (
        Client(server, "tester") as client,
        faultproxy.running(server) as proxy,
        Client(proxy.config, "family", timeout=2.0) as proxied,
        ledger.keeping(client, namespace) as kept,
        managed(proxied, [FAMILY], Settings(MARK, namespace, pace=PACE)) as manager,
    ):
        stage = Stage(namespace, client, proxy, kept, manager)
        for name in AT_FIRST:
            await stage.bear(name)
        await eventually(lambda: len(kept.parents) == len(AT_FIRST))
        await kept.right()
        await eventually(lambda: is_idle(manager) and len(proxy.watches) == 2)
        yield stage


async def change_everything(stage: Stage) -> None:
    await stage.bear("comes")
    await stage.change("changes", value="two")
    await stage.end("goes")
    await stage.end("leaves", Propagation.FOREGROUND)
    await stage.end("returns")
    await stage.bear("returns")
    await stage.change("shrinks", children=1, pets=1)
    await stage.take("loses-0")
    await stage.take("loses-pet-1")


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
        stage.proxy.faults += [Fault(*fault) for fault in faults]
        stage.proxy.cut_watches()
        yield
        await eventually(lambda: all(fault.times == 0 for fault in stage.proxy.faults))

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
    "watches expire at once": failing(("GET", "watch=true", 8, EXPIRED)),
    "watches expire once begun": failing(("GET", "watch=true", 8, EXPIRED_INSIDE)),
    "lists and watches fail": failing(("GET", "/parents", 12, BROKEN), ("GET", "/configmaps", 12, BUSY)),
    "statuses and deletes conflict": failing(
        ("PATCH", "/status", 8, WRITING["409"]), ("DELETE", "/configmaps", 4, WRITING["409"])
    ),
    **{f"half of the writes: {name}": failing_writes(0.5, [WRITING[name]], ends=True) for name in WRITING},
    "a fifth of the writes, for ever": failing_writes(0.2, list(WRITING.values()), ends=False),
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_after_any_trouble_the_world_is_as_wanted_and_nothing_was_made_twice(
    kube: Cluster, namespace: Kubectl, trouble: Trouble
) -> None:
    async with staged(kube, namespace.namespace) as stage:
        async with trouble(stage):
            await change_everything(stage)
        await stage.ledger.right()
        assert {key_of(parent).name for parent in stage.ledger.parents} == IN_THE_END
        assert stage.ledger.wrongs() == []
        assert await twice_told(stage) == []
        stage.proxy.fail_writes(0)
        await rests(stage)


async def twice_told(stage: Stage) -> list[tuple[str, ...]]:
    """Name the events that are there more than once."""
    events = (await stage.client.list(Scope(EVENTS, stage.namespace))).items
    told = Counter((event["involvedObject"]["uid"], event["reason"], event["message"]) for event in events)
    return [what for what, times in told.items() if times > 1]


async def rests(stage: Stage) -> None:
    """Look at every parent once more: there is nothing to write."""
    await eventually(lambda: is_idle(stage.manager))
    before, passed = len(stage.proxy.writes), passes(stage.manager, "family")
    for parent in stage.ledger.parents:
        stage.manager.loops[0].queue.add(key_of(parent))
    await eventually(
        lambda: passes(stage.manager, "family") >= passed + len(stage.ledger.parents) and is_idle(stage.manager)
    )
    assert [write for write in stage.proxy.writes[before:] if " events/" not in write] == []


async def test_what_the_server_calls_invalid_waits_for_a_change_and_then_goes_on(
    kube: Cluster, namespace: Kubectl
) -> None:
    async with staged(kube, namespace.namespace) as stage:
        stage.proxy.fail("PATCH", "/configmaps", 1, 422, "Invalid")
        await stage.change("changes", value="two")
        await eventually(lambda: stage.ledger.complaints() and "Refused" in str(stage.ledger.complaints()))
        await eventually(lambda: is_idle(stage.manager))
        await stage.change("changes", value="three")
        await stage.ledger.right()
        assert stage.ledger.wrongs() == []
