"""Claims and the volumes that are made for them, bound to each other."""

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.embedded.node.volumes import CLAIMS, VOLUMES
from paddle_operator.kube import errors

BOUND = {"phase": "Bound"}


def controller() -> Controller:
    triggers = (Trigger(CLAIMS), Trigger(VOLUMES, _claim_of))
    return Controller("claims", triggers, reconcile, workers=1)


def _claim_of(volume: Manifest) -> tuple[Key, ...]:
    reference = (volume.get("spec") or {}).get("claimRef")
    return (Key(reference["namespace"], reference["name"]),) if reference else ()


async def reconcile(world: World, key: Key) -> Outcome:
    """Bind a claim to the volume that names it; a volume whose claim is gone is released, as in a cluster."""
    claim = world.stores[CLAIMS].get(key)
    if claim is None:
        await _release(world, key)
        return Done()
    volume = next((found for found in world.stores[VOLUMES] if _fits(claim, found)), None)
    if volume is None:
        return Done()
    try:
        await _bind(world, claim, volume)
    except (errors.NotFoundError, errors.ConflictError, errors.InvalidError):
        return Done(look_again=0.2)
    return Done()


def _fits(claim: Manifest, volume: Manifest) -> bool:
    spec, wanted = volume["spec"], claim["spec"].get("volumeName")
    reference = spec.get("claimRef") or {}
    if wanted not in (None, "", key_of(volume).name) or reference.get("uid") not in (None, "", uid_of(claim)):
        return False
    if reference:
        return Key(reference["namespace"], reference["name"]) == key_of(claim)
    return bool(wanted == key_of(volume).name or spec.get("storageClassName") == claim["spec"].get("storageClassName"))


async def _bind(world: World, claim: Manifest, volume: Manifest) -> None:
    key, client = key_of(volume), world.client
    reference = {
        "apiVersion": "v1",
        "kind": CLAIMS.kind,
        "namespace": key_of(claim).namespace,
        "name": key_of(claim).name,
        "uid": uid_of(claim),
    }
    if (volume["spec"].get("claimRef") or {}).get("uid") != uid_of(claim):
        await client.patch(VOLUMES, key, {"spec": {"claimRef": reference}})
    if (volume.get("status") or {}).get("phase") != BOUND["phase"]:
        await client.patch(VOLUMES, key, {"status": BOUND}, subresource="status")
    if claim["spec"].get("volumeName") != key.name:
        await client.patch(CLAIMS, key_of(claim), {"spec": {"volumeName": key.name}})
    if (claim.get("status") or {}).get("phase") != BOUND["phase"]:
        modes, capacity = volume["spec"].get("accessModes"), volume["spec"].get("capacity")
        status = {**BOUND, "accessModes": modes, "capacity": capacity}
        await client.patch(CLAIMS, key_of(claim), {"status": status}, subresource="status")


async def _release(world: World, claim: Key) -> None:
    for volume in world.stores[VOLUMES]:
        if _claim_of(volume) == (claim,) and (volume.get("status") or {}).get("phase") == BOUND["phase"]:
            await world.client.patch(VOLUMES, key_of(volume), {"status": {"phase": "Released"}}, subresource="status")
