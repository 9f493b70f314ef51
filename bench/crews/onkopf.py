"""A manager of crews on kopf, as its documentation advises; `memo.writer` is from `typed` or from `plain`."""
# mypy: disable-error-code="import-not-found, untyped-decorator"
# kopf lives in a venv of its own: here its names have no types.

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import kopf

from crews import crew
from crews.crew import Manifest

CREWS = (crew.GROUP, crew.VERSION, crew.PLURAL)
OURS = {crew.LABEL: kopf.PRESENT}
Index = Mapping[str, Iterable[str]]
ROLL = crew.RollCall()


@dataclass
class Known:
    """What has to be remembered of a crew to write its status only when it changes, and in order."""

    body: Manifest
    status: Manifest
    is_settling: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@kopf.on.startup()
async def begin(memo: kopf.Memo, **_: object) -> None:
    memo.known = {}


def owner_of(meta: Manifest) -> str:
    return next((str(owner["uid"]) for owner in meta.get("ownerReferences") or () if owner.get("controller")), "")


@kopf.index("pods", labels=OURS)
async def pods(meta: Manifest, name: str, **_: object) -> dict[str, str]:
    return {owner_of(meta): name}


@kopf.index("configmaps", labels=OURS)
async def config_maps(meta: Manifest, name: str, **_: object) -> dict[str, str]:
    return {owner_of(meta): name}


@kopf.on.resume(*CREWS)
@kopf.on.create(*CREWS)
@kopf.on.update(*CREWS, field="spec")
async def ensure(body: Manifest, uid: str, memo: kopf.Memo, pods: Index, config_maps: Index, **_: object) -> None:
    known = memo.known.setdefault(uid, Known(body, dict(body.get("status") or {})))
    known.body = body
    wanted = [crew.config_map(body), *crew.pods(body)]
    present = {*pods.get(uid, ()), *config_maps.get(uid, ())}
    missing = [manifest for manifest in wanted if manifest["metadata"]["name"] not in present]
    kopf.adopt(missing)
    await asyncio.gather(*(memo.writer.create(manifest) for manifest in missing))
    if not missing:  # else the new pods bring us to it
        await report(memo, uid, pods)
    ROLL.call(body["metadata"]["name"])


@kopf.on.event("pods", labels=OURS)
async def pod_changed(meta: Manifest, memo: kopf.Memo, pods: Index, **_: object) -> None:
    uid = owner_of(meta)
    known = memo.known.get(uid)
    if known is None or known.is_settling:
        return
    known.is_settling = True
    await asyncio.sleep(crew.SETTLE)
    known.is_settling = False
    await report(memo, uid, pods)


async def report(memo: kopf.Memo, uid: str, pods: Index) -> None:
    known: Known = memo.known[uid]
    async with known.lock:
        status = crew.status(known.body, len(set(pods.get(uid, ()))))
        if all(known.status.get(name) == value for name, value in status.items()):
            return
        await memo.writer.write_status(known.body, status)
        known.status = status
