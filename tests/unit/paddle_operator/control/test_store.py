"""The store is what was last seen, and tells what changed."""

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.store import Store, by_label, by_owner


def thing(name: str, version: int = 1, uid: str = "", owner: str = "", **labels: str) -> Manifest:
    metadata: Manifest = {
        "name": name, "namespace": "ns", "uid": uid or f"uid-{name}", "resourceVersion": str(version), "labels": labels,
    }  # fmt: skip
    if owner:
        metadata["ownerReferences"] = [{"uid": "other", "name": "o"}, {"uid": owner, "name": "o", "controller": True}]
    return {"metadata": metadata}


def listening(*manifests: Manifest) -> tuple[Store, list[str]]:
    store = Store({"owner": by_owner, "app": by_label("app")})
    store.replace(list(manifests))
    heard: list[str] = []
    store.listen(
        lambda manifest: heard.append(f"{manifest['metadata']['name']}@{manifest['metadata']['resourceVersion']}")
    )
    return store, heard


def names(found: list[Manifest]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in found]


def test_indexes_follow_every_change() -> None:
    store, _ = listening(thing("b", app="web", owner="u-1"), thing("a", app="web"))
    assert names(store.find("app", "web")) == ["a", "b"]
    assert names(store.find("owner", "u-1")) == ["b"]
    store.put(thing("b", 2, app="db"))
    assert (names(store.find("app", "web")), names(store.find("app", "db"))) == (["a"], ["b"])
    assert store.find("owner", "u-1") == []
    store.remove(thing("a", 3))
    assert store.find("app", "web") == []
    assert store._entries["app"].keys() == {"db"}
    store.add_index("all", lambda _: ["x"])
    assert names(store.find("all", "x")) == ["b"]


def test_an_index_that_changes_its_mind_leaves_nothing_behind() -> None:
    store, _ = listening(thing("a"))
    said = ["x", "x", "y"]
    store.add_index("fickle", lambda _: said)
    said[:] = ["z"]
    assert (names(store.find("fickle", "x")), store.find("fickle", "z")) == (["a"], [])
    store.remove(thing("a"))
    assert [dict(entries) for entries in store._entries.values()] == [{}, {}, {}]
    assert store._filed == {}


def test_two_indexes_cannot_have_one_name() -> None:
    store, _ = listening(thing("a", app="web"))
    with pytest.raises(ValueError, match="there is an index app already: give the second another name"):
        store.add_index("app", lambda _: ["x"])
    assert names(store.find("app", "web")) == ["a"]


def test_a_replacement_tells_of_what_came_changed_and_went_and_of_nothing_else() -> None:
    store, heard = listening(thing("same"), thing("changed"), thing("gone"), thing("reborn"))
    seen: list[int] = []
    store.listen(lambda _: seen.append(len(store)))
    store.replace([thing("same"), thing("changed", 2), thing("new"), thing("reborn", uid="u-9")])
    assert heard == ["changed@1", "changed@2", "gone@1", "new@1", "reborn@1", "reborn@1"]
    assert set(seen) == {4}, "listeners saw the store half replaced"


def test_an_older_state_does_not_come_back() -> None:
    store, heard = listening(thing("a", 9))
    store.put(thing("a", 8))
    assert (heard, store.get(Key("ns", "a"))) == ([], thing("a", 9))
    store.put(thing("a", 3, uid="another"))
    assert store.get(Key("ns", "a")) == thing("a", 3, uid="another")


def test_the_end_of_an_earlier_object_does_not_end_the_one_there_is() -> None:
    store, heard = listening(thing("a", 9, uid="second"))
    store.remove(thing("a", 8, uid="first"))
    assert (store.get(Key("ns", "a")), heard) == (thing("a", 9, uid="second"), ["a@9", "a@8"])
    store.remove(thing("a", 10, uid="third"))
    assert store.get(Key("ns", "a")) is None


def test_our_own_write_is_seen_at_once_but_brings_nothing_back() -> None:
    store, heard = listening(thing("a", 5))
    store.refresh(thing("a", 6))
    assert (store.get(Key("ns", "a")), heard) == (thing("a", 6), [])
    store.remove(thing("a", 7))
    store.refresh(thing("a", 6))
    assert store.get(Key("ns", "a")) is None


def test_our_own_write_is_told_of_when_a_list_shows_it_first() -> None:
    store, heard = listening(thing("a", 5), thing("b", 5))
    store.refresh(thing("a", 7))
    store.put(thing("a", 6))
    store.replace([thing("a", 7), thing("b", 5)])
    assert heard == ["a@7", "a@7"]
    store.replace([thing("a", 7), thing("b", 5)])
    assert heard == ["a@7", "a@7"]


def test_our_own_write_is_told_of_once_when_the_watch_brings_it() -> None:
    store, heard = listening(thing("a", 5))
    store.refresh(thing("a", 7))
    store.put(thing("a", 7))
    store.replace([thing("a", 7)])
    assert heard == ["a@7", "a@7"]


def test_the_last_state_of_what_was_never_seen_is_told_too() -> None:
    store, heard = listening()
    store.remove(thing("a", 7))
    assert heard == ["a@7"]
