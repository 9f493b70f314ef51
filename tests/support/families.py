"""What people do to parents, and whether the parents have what was wanted in the end."""

from collections.abc import Callable, Sequence

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, uid_of
from support import family
from support.embeddedapi import Api

Change = Callable[[Api], None]


def wanting(name: str = "ada", **fields: int | str) -> Change:
    """Somebody says what they want of a parent."""

    def change(api: Api) -> None:
        wanted = family.parent(name)
        wanted["spec"] |= fields
        api.put("parents", wanted)

    return change


def children_of(parent: Manifest) -> list[Manifest]:
    return [family.child(parent, number) for number in range(parent["spec"]["children"])]


def collect_garbage(api: Api, parents: Sequence[Manifest]) -> None:
    alive = {uid_of(parent) for parent in parents}
    for name in api.names("configmaps"):
        owner = controller_of(api.get("configmaps", "default", name))
        if owner is not None and owner["uid"] not in alive:
            api.remove("configmaps", Key("default", name))


def is_whole(api: Api) -> bool:
    """Every parent has what it wants, and says so; what has lost its parent goes, as in any cluster."""
    parents = [api.get("parents", "default", name) for name in api.names("parents")]
    collect_garbage(api, parents)
    wanted = {key_of(child).name: child["data"] for parent in parents for child in children_of(parent)}
    if {name: api.get("configmaps", "default", name)["data"] for name in api.names("configmaps")} != wanted:
        return False
    return all(map(says_so, parents))


def says_so(parent: Manifest) -> bool:
    status = parent.get("status") or {}
    told = [(found["status"], found["observedGeneration"]) for found in status.get("conditions") or []]
    return status.get("children") == parent["spec"]["children"] and told == [("True", parent["metadata"]["generation"])]
