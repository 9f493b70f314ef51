"""Where a manager is put to the test: families that are grown, a proxy in its way, and a ledger beside it."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from paddle_operator.api.manifest import Key, key_of, uid_of, version_of
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
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
from support.mishaps import Mishap

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

    async def forget(self, mishap: Mishap) -> None:
        """Forget what was until now."""
        listing = await self.client.list(Scope(PARENTS, self.namespace))
        self.proxy.forget_before(listing.resource_version, mishap)

    async def take(self, name: str) -> None:
        """Delete a member that is needed."""
        (member,) = [found for found in self.ledger.members if key_of(found).name == name]
        self.ledger.taken.add(uid_of(member))
        await self.client.delete(CONFIG_MAPS, key_of(member), Preconditions(uid_of(member)))


@contextlib.asynccontextmanager
async def staged(server: Config, namespace: str) -> AsyncIterator[Stage]:
    """Have families that are grown, and a manager at rest."""
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
    await stage.change("stays", remark="and has nothing to do but to say so")
    await stage.end("goes")
    await stage.end("leaves", Propagation.FOREGROUND)
    await stage.end("returns")
    await stage.bear("returns")
    await stage.change("shrinks", children=1, pets=1)
    await stage.take("loses-0")
    await stage.take("loses-pet-1")


async def ends_well(stage: Stage) -> None:
    """See that all becomes as wanted, that nothing was done twice or left behind, and that it then rests."""
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


def knows_all(stage: Stage) -> bool:
    """Tell whether the manager has heard of everything that is there: on a busy machine it is told later than we."""
    stores = stage.manager.caches.stores
    known = {uid_of(found): version_of(found) for kind in (PARENTS, CONFIG_MAPS) for found in stores[kind]}
    return known == {uid_of(found): version_of(found) for found in (*stage.ledger.parents, *stage.ledger.members)}


async def rests(stage: Stage) -> None:
    """Look at every parent once more: there is nothing to write."""
    await eventually(lambda: knows_all(stage) and is_idle(stage.manager))
    before, passed = len(stage.proxy.writes), passes(stage.manager, "family")
    for parent in stage.ledger.parents:
        stage.manager.loops[0].queue.add(key_of(parent))
    await eventually(
        lambda: passes(stage.manager, "family") >= passed + len(stage.ledger.parents) and is_idle(stage.manager)
    )
    written = [write for write in stage.proxy.writes[before:] if " events/" not in write]
    assert written == [], written
