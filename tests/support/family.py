"""A tiny controller for tests: a Parent's children are applied and change, its pets are created and replaced."""

from paddle_operator.api.conditions import condition, conditions_of, renewed, written
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.plan import Apply, Create, Delete, Plan, Status
from paddle_operator.control.store import by_owner
from paddle_operator.kube.events import Event
from paddle_operator.kube.request import Kind

PARENTS = Kind("example.org", "v1", "parents", "Parent")
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
LABEL = "example.org/family"


def parent(name: str, namespace: str = "default", *, children: int = 3, pets: int = 0, value: str = "one") -> Manifest:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Parent",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"children": children, "pets": pets, "value": value},
    }


def child(of: Manifest, number: int) -> Manifest:
    extra = {"extra": of["spec"]["extra"]} if "extra" in of["spec"] else {}
    return _member(of, str(number), {"value": of["spec"]["value"], **extra})


def pet(of: Manifest, number: int) -> Manifest:
    return _member(of, f"pet-{number}", {"value": of["spec"]["value"]})


def _member(of: Manifest, ending: str, data: dict[str, str]) -> Manifest:
    key = key_of(of)
    owner = {
        "apiVersion": of["apiVersion"],
        "kind": of["kind"],
        "name": key.name,
        "uid": uid_of(of),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"name": f"{key.name}-{ending}", "namespace": key.namespace, "labels": {LABEL: "yes"}}
    return {"metadata": {**metadata, "ownerReferences": [owner]}, "data": data}


def children_of(of: Manifest) -> list[Manifest]:
    return [child(of, number) for number in range(of["spec"]["children"])]


def pets_of(of: Manifest) -> list[Manifest]:
    return [pet(of, number) for number in range(of["spec"].get("pets", 0))]


def wants(of: Manifest, member: Manifest) -> bool:
    """Tell whether this one has a place in the family: a child by its name, a pet only as it is."""
    pets = {key_of(wanted): wanted["data"] for wanted in pets_of(of)}
    children = {key_of(wanted) for wanted in children_of(of)}
    return key_of(member) in children or pets.get(key_of(member)) == member.get("data")


def plan(observed: Manifest, members: list[Manifest], world: World) -> Plan:
    children, pets = children_of(observed), pets_of(observed)
    present = [member for member in members if wants(observed, member)]
    complete = len(present) == len(children) + len(pets)
    generation = observed["metadata"].get("generation", 0)
    ready = condition("Ready", "Counted", "", holds=complete)
    conditions = written(renewed(conditions_of(observed), [ready], generation, world.now()))
    return Plan(
        apply=tuple(Apply(CONFIG_MAPS, manifest) for manifest in children),
        create=tuple(Create(CONFIG_MAPS, manifest) for manifest in pets),
        delete=tuple(Delete.of(CONFIG_MAPS, member) for member in members if not wants(observed, member)),
        status=Status(PARENTS, observed, {"children": len(present), "conditions": conditions}),
        events=(Event(observed, "Grown", "all children are there"),) if complete else (),
    )


async def reconcile(world: World, key: Key) -> Outcome:
    observed = world.stores[PARENTS].get(key)
    if observed is None or "deletionTimestamp" in observed["metadata"]:
        return Done()
    members = world.stores[CONFIG_MAPS].find("owner", uid_of(observed))
    return await world.execute(plan(observed, members, world))


FAMILY = Controller(
    "family",
    (
        Trigger(PARENTS),
        Trigger(
            CONFIG_MAPS,
            key_of_owner(PARENTS),
            labels=f"{LABEL}=yes",
            settle=SETTLE,
            indexes={"owner": by_owner},
        ),
    ),
    reconcile,
)
