"""What people do to parents, and whether the parents have what was wanted in the end."""

from collections.abc import Callable, Sequence

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, uid_of
from support import family
from support.fakeapi import FakeApi

Change = Callable[[FakeApi], None]


def wanting(name: str = "ada", **fields: int | str) -> Change:
    """Somebody says what they want of a parent."""

    def change(api: FakeApi) -> None:
        wanted = family.parent(name)
        wanted["spec"] |= fields
        api.put("parents", wanted)

    return change


def children_of(parent: Manifest) -> list[Manifest]:
    return [family.child(parent, number) for number in range(parent["spec"]["children"])]


def collect_garbage(api: FakeApi, parents: Sequence[Manifest]) -> None:
    alive = {uid_of(parent) for parent in parents}
    for name in api.names("configmaps"):
        owner = controller_of(api.get("configmaps", "default", name))
        if owner is not None and owner["uid"] not in alive:
            api.remove("configmaps", Key("default", name))


def is_whole(api: FakeApi) -> bool:
    """Every parent has what it wants, and says so; what has lost its parent goes, as in any cluster."""
    parents = [api.get("parents", "default", name) for name in api.names("parents")]
    collect_garbage(api, parents)
    wanted = {key_of(child).name: child["data"] for parent in parents for child in children_of(parent)}
    if {name: api.get("configmaps", "default", name)["data"] for name in api.names("configmaps")} != wanted:
        return False
    statuses = [parent.get("status") or {} for parent in parents]
    counted = [status.get("children") for status in statuses] == [parent["spec"]["children"] for parent in parents]
    return counted and all([found["status"] for found in status["conditions"]] == ["True"] for status in statuses)
