"""One store for a kind, filled by a watch for each selection of its objects."""

from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.control.caches import Part
from paddle_operator.control.store import Store


def thing(name: str, version: int = 1) -> Manifest:
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}}


def filled() -> tuple[Store, Part, Part]:
    store, parts = Store(), list[Part]()
    jobs, sets = Part(store, parts), Part(store, parts)
    jobs.replace([thing("job"), thing("both")])
    sets.replace([thing("set"), thing("both")])
    return store, jobs, sets


def names(store: Store) -> list[str]:
    return sorted(key_of(manifest).name for manifest in store)


def test_a_list_of_one_selection_leaves_the_objects_of_another_alone() -> None:
    store, jobs, sets = filled()
    assert names(store) == ["both", "job", "set"]
    jobs.replace([])
    assert names(store) == ["both", "set"]
    sets.replace([thing("new")])
    assert names(store) == ["new"]


def test_an_object_of_two_selections_goes_when_it_left_both() -> None:
    store, jobs, sets = filled()
    jobs.remove(thing("both", 2))
    assert names(store) == ["both", "job", "set"]
    sets.remove(thing("both", 2))
    assert names(store) == ["job", "set"]


def test_an_object_that_moves_to_another_selection_stays_as_it_is_now() -> None:
    store, jobs, sets = filled()
    sets.put(thing("job", 2))
    jobs.remove(thing("job", 2))
    assert names(store) == ["both", "job", "set"]
    sets.remove(thing("job", 3))
    assert names(store) == ["both", "set"]
