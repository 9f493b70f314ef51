"""A manager of crews on our loop: KUBECONFIG and namespace from outside."""

import asyncio
import logging
import sys

from crews import crew
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.controller import Controller, Trigger, World, key_of_owner
from paddle_operator.control.manager import Election, Manager, Settings
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.plan import Apply, Create, Plan, Status
from paddle_operator.control.process import collect_rarely, signals
from paddle_operator.control.store import by_owner
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import PODS, Kind

CREWS = Kind(crew.GROUP, crew.VERSION, crew.PLURAL, crew.KIND)
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
MARK = f"{crew.GROUP}/applied"
NAME = "crews"
ROLL = crew.RollCall()


def owned(manifest: Manifest, owner: Manifest) -> Manifest:
    reference = {
        **CREWS.identity,
        "name": owner["metadata"]["name"],
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def plan(observed: Manifest, pods: list[Manifest]) -> Plan:
    wanted = [owned(manifest, observed) for manifest in crew.pods(observed)]
    present = {key_of(manifest) for manifest in pods}
    is_whole = all(key_of(manifest) in present for manifest in wanted)
    return Plan(
        apply=(Apply(CONFIG_MAPS, owned(crew.config_map(observed), observed)),),
        create=tuple(Create(PODS, manifest) for manifest in wanted),
        # Else the new pods bring us to it.
        status=Status(CREWS, observed, crew.status(observed, len(present))) if is_whole else None,
    )


async def reconcile(world: World, key: Key) -> Outcome:
    observed = world.stores[CREWS].get(key)
    if observed is None:
        return Done()
    outcome = await world.execute(plan(observed, world.stores[PODS].find("owner", uid_of(observed))))
    ROLL.call(key.name)
    return outcome


CONTROLLER = Controller(
    NAME,
    (
        Trigger(CREWS),
        Trigger(CONFIG_MAPS, key_of_owner(CREWS), crew.LABEL, crew.SETTLE),
        Trigger(PODS, key_of_owner(CREWS), crew.LABEL, crew.SETTLE, {"owner": by_owner}),
    ),
    reconcile,
)


async def run(namespace: str) -> None:
    collect_rarely()
    stop = asyncio.Event()
    with signals(stop):
        async with Client(config.load(), NAME) as client:
            settings = Settings(MARK, namespace, Election(Key(namespace, NAME), NAME))
            await Manager(client, [CONTROLLER], settings).run(stop)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(run(sys.argv[1]))
