"""The ledger of the tests knows what was right and what was not."""

import pytest

from paddle_operator.api.manifest import Manifest, uid_of
from support import family
from support.ledger import Ledger


def parent(version: int, generation: int = 1, **spec: object) -> Manifest:
    made = family.parent("ada", children=1, pets=1)
    made["metadata"] |= {"uid": "u-ada", "resourceVersion": str(version), "generation": generation}
    return {**made, "spec": {**made["spec"], **spec}}


def grown(of: Manifest, version: int) -> Manifest:
    condition = {"type": "Ready", "status": "True", "observedGeneration": of["metadata"]["generation"]}
    made = {**of, "status": {"children": 2, "conditions": [condition]}}
    return {**made, "metadata": {**made["metadata"], "resourceVersion": str(version)}}


def member(manifest: Manifest, version: int) -> Manifest:
    identity = {"uid": f"u-{manifest['metadata']['name']}", "resourceVersion": str(version)}
    return {**manifest, "kind": "ConfigMap", "metadata": {**manifest["metadata"], **identity}}


CHILD, PET = member(family.child(parent(1), 0), 2), member(family.pet(parent(1), 0), 3)
GROWN = [("ADDED", parent(1)), ("ADDED", CHILD), ("ADDED", PET), ("MODIFIED", grown(parent(1), 4))]


def noted(*events: tuple[str, Manifest]) -> Ledger:
    ledger = Ledger()
    for kind, manifest in events:
        ledger.note({"type": kind, "object": manifest})
    return ledger


def test_a_grown_family_is_right() -> None:
    assert noted(*GROWN).complaints() == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([GROWN[0], GROWN[1], GROWN[3]], ["default/ada: no default/ada-pet-0"]),
        ([*GROWN, ("MODIFIED", grown(parent(5, children=0, generation=1), 6))],
         ["default/ada: its status is", "default/ada-0 is one too many"]),
        ([*GROWN, ("MODIFIED", grown(parent(5, value="two"), 6))],
         ["default/ada: default/ada-0 is outdated", "default/ada: default/ada-pet-0 is outdated",
          "default/ada-pet-0 is one too many"]),
        (GROWN[:3], ["default/ada: its status is {}"]),
        ([*GROWN, ("MODIFIED", {**grown(parent(1), 5), "metadata": parent(5, generation=2)["metadata"]})],
         ["default/ada: its status is about an older spec"]),
        ([*GROWN, ("DELETED", parent(5))], ["default/ada-0 is an orphan", "default/ada-pet-0 is an orphan"]),
    ],
    ids=["one is missing", "one is too many", "all are outdated", "no status", "an old status", "no parent"],
)  # fmt: skip
def test_what_is_not_right_is_named(events: list[tuple[str, Manifest]], expected: list[str]) -> None:
    told = noted(*events).complaints()
    assert [words[: len(start)] for words, start in zip(told, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("meanwhile", "gone", "wrong"),
    [
        ([], CHILD, True),
        ([], PET, True),
        ([("MODIFIED", parent(5, children=0))], CHILD, False),
        ([("MODIFIED", parent(5, children=0)), ("MODIFIED", parent(6))], CHILD, False),
        ([("MODIFIED", parent(5, value="two"))], CHILD, True),
        ([("MODIFIED", parent(5, value="two"))], PET, False),
        ([("DELETED", parent(5))], CHILD, False),
    ],
    ids=[
        "a needed child", "a needed pet", "one too many", "one that was too many for a while",
        "a child that could be changed", "a pet that could not", "an orphan",
    ],
)  # fmt: skip
def test_it_was_wrong_to_delete_what_was_needed_all_the_time(
    meanwhile: list[tuple[str, Manifest]], gone: Manifest, *, wrong: bool
) -> None:
    ledger = noted(*GROWN, *meanwhile, ("DELETED", member(gone, 9)))
    assert bool(ledger.wrongs()) is wrong
    ledger.taken.add(uid_of(gone))
    assert ledger.wrongs() == []
