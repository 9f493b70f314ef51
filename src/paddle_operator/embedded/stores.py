"""Where the data of a SampleSet is when its Secret does not say: metadata in SQLite, data in a directory."""

import base64
import re
from pathlib import Path

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.controllers.kinds import SAMPLE_SETS
from paddle_operator.controllers.secrets import SECRETS
from paddle_operator.kube import errors

UNFIT = re.compile(r"[^a-z0-9-]")
LONGEST = 63


def controller(root: Path) -> Controller:
    """Give the controller that fills in what a Secret lacks; what it says already, it says for good."""

    async def reconcile(world: World, key: Key) -> Outcome:
        sample_set = world.stores[SAMPLE_SETS].get(key)
        reference = ((sample_set or {}).get("spec") or {}).get("secretRef") or {}
        if not reference.get("name"):
            return Done()
        secret = Key(reference.get("namespace") or key.namespace, reference["name"])
        await fill_in(world, secret, root / secret.namespace / secret.name)
        return Done()

    return Controller("stores", (Trigger(SAMPLE_SETS),), reconcile, workers=1)


async def fill_in(world: World, key: Key, place: Path) -> None:
    try:
        found = await world.client.get(SECRETS, key)
    except errors.NotFoundError:
        made: Manifest = {"metadata": {"namespace": key.namespace, "name": key.name}, "type": "Opaque"}
        found = await world.client.create(SECRETS, made)
    missing = lacking(found.get("data") or {}, key, place)
    if missing:
        make(place)
        await world.client.patch(SECRETS, key_of(found), {"data": missing})


def make(place: Path) -> None:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)


def lacking(data: dict[str, str], key: Key, place: Path) -> dict[str, str]:
    """Give the values that are to be added; a store that is half described is left to its author."""
    values = {"name": f"{key.namespace}-{key.name}", "metaurl": f"sqlite3://{place}/meta.db"}
    if not {"storage", "bucket"} & data.keys():
        values |= {"storage": "file", "bucket": f"{place}/data/"}
    values["name"] = UNFIT.sub("-", values["name"])[:LONGEST].strip("-")
    return {name: base64.b64encode(value.encode()).decode() for name, value in values.items() if name not in data}
