"""What is applied already is not applied again, and little is remembered for that."""

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control import applied
from paddle_operator.control.applied import Applied, covers
from paddle_operator.kube.request import Kind

THINGS = Kind("", "v1", "things", "Thing")
MARK = "example.org/applied"


@pytest.mark.parametrize(
    ("observed", "wanted", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": 1}, False),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        ({"a": [{"n": 1, "default": 2}]}, {"a": [{"n": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 1}, {"gone": None}, True),
        ({"gone": 1}, {"gone": None}, False),
        (None, {}, False),
        (
            {"ownerReferences": [{"uid": "theirs"}, {"uid": "a", "kind": "A"}]},
            {"ownerReferences": [{"uid": "a"}]},
            True,
        ),
        ({"ownerReferences": [{"uid": "theirs"}]}, {"ownerReferences": [{"uid": "a"}]}, False),
        ({}, {"ownerReferences": [{"uid": "a"}]}, False),
    ],
)
def test_what_is_wanted_is_there_or_not(*, observed: object, wanted: object, expected: bool) -> None:
    assert covers(observed, wanted) is expected


def thing(name: str = "one", **spec: object) -> Manifest:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def stored(manifest: Manifest, version: int, **spec: object) -> Manifest:
    metadata = {**manifest["metadata"], "resourceVersion": str(version)}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], **spec}}


def test_what_the_annotation_says_and_the_values_are_is_applied() -> None:
    known = Applied(MARK)
    observed = stored(known.marked(thing(cpu=1)), 5, default="by the server")
    assert known.holds(THINGS, observed, thing(cpu=1))
    assert not known.holds(THINGS, observed, thing(cpu=2))
    assert not known.holds(THINGS, stored(observed, 6, cpu=3), thing(cpu=1)), "somebody changed it"
    assert not known.holds(THINGS, stored(thing(cpu=1), 6), thing(cpu=1)), "it was never applied"
    assert (known.marks(observed), known.marks(thing())) == (True, False)


def test_a_value_in_another_form_is_known_until_the_object_changes() -> None:
    known = Applied(MARK)
    written = stored(known.marked(thing(cpu="1000m")), 5, cpu="1")
    assert not known.holds(THINGS, written, thing(cpu="1000m"))
    known.note(THINGS, written, thing(cpu="1000m"))
    assert known.holds(THINGS, written, thing(cpu="1000m"))
    assert not known.holds(THINGS, stored(written, 6), thing(cpu="1000m"))
    known.forget(THINGS, Key("ns", "one"))
    assert not known.holds(THINGS, written, thing(cpu="1000m"))


def test_only_what_is_odd_is_remembered_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applied, "MOST_REMEMBERED", 2)
    known = Applied(MARK)
    for name in ("a", "b", "a", "c"):
        known.note(THINGS, stored(thing(name), 1, cpu="1"), thing(name, cpu="1000m"))
    known.note(THINGS, stored(thing("d", cpu="1"), 1), thing("d", cpu="1"))
    assert [key.name for _, key in known._odd] == ["a", "c"]
