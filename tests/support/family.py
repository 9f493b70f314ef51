"""A tiny controller for tests: a Parent has as many child ConfigMaps as it says, and a status that counts them."""

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.conditions import Condition, Truth, with_condition
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.plan import Apply, Delete, Plan, Status
from paddle_operator.control.store import by_owner
from paddle_operator.kube.events import Event
from paddle_operator.kube.request import Kind

PARENTS = Kind("example.org", "v1", "parents", "Parent")
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
LABEL = "example.org/family"
DEFINITION: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "parents.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "parents", "singular": "parent", "kind": "Parent"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "status": {
                                "type": "object",
                                "properties": {
                                    "children": {"type": "integer"},
                                    "conditions": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["type"],
                                        "items": {
                                            "type": "object",
                                            "required": ["type"],
                                            "properties": {
                                                **{
                                                    name: {"type": "string"}
                                                    for name in (
                                                        "type",
                                                        "status",
                                                        "reason",
                                                        "message",
                                                        "lastTransitionTime",
                                                    )
                                                },
                                                "observedGeneration": {"type": "integer"},
                                            },
                                        },
                                    },
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}


def parent(name: str, namespace: str = "default", *, children: int = 3, value: str = "one") -> Manifest:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Parent",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"children": children, "value": value},
    }


def child(of: Manifest, number: int) -> Manifest:
    key = key_of(of)
    owner = {
        "apiVersion": of["apiVersion"],
        "kind": of["kind"],
        "name": key.name,
        "uid": uid_of(of),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"name": f"{key.name}-{number}", "namespace": key.namespace, "labels": {LABEL: "yes"}}
    data = {"value": of["spec"]["value"]} | ({"extra": of["spec"]["extra"]} if "extra" in of["spec"] else {})
    return {"metadata": {**metadata, "ownerReferences": [owner]}, "data": data}


def plan(observed: Manifest, children: list[Manifest], world: World) -> Plan:
    wanted = [child(observed, number) for number in range(observed["spec"]["children"])]
    names = {key_of(manifest) for manifest in wanted}
    present = names & {key_of(manifest) for manifest in children}
    before = (observed.get("status") or {}).get("conditions") or []
    ready = Condition("Ready", Truth.TRUE if present == names else Truth.FALSE, "Counted")
    return Plan(
        apply=tuple(Apply(CONFIG_MAPS, manifest) for manifest in wanted),
        delete=tuple(Delete.of(CONFIG_MAPS, manifest) for manifest in children if key_of(manifest) not in names),
        status=Status(
            PARENTS,
            observed,
            {"children": len(present), "conditions": with_condition(before, ready, world.now())},
        ),
        events=(Event(observed, "Grown", "all children are there"),) if present == names else (),
    )


async def reconcile(world: World, key: Key) -> Outcome:
    observed = world.stores[PARENTS].get(key)
    if observed is None:
        return Done()
    children = world.stores[CONFIG_MAPS].find("owner", uid_of(observed))
    return await world.execute(plan(observed, children, world))


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
