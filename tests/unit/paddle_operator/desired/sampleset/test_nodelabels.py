"""The labels of nodes: a set's own, and the one that the original operator knew."""

from dataclasses import replace

import pytest

from paddle_operator.api.names import sampleset_node_label
from paddle_operator.desired.sampleset.nodelabels import label_changes, labels_left
from paddle_operator.desired.sampleset.runtimes import Runtime
from support.samplesnapshots import decoded, node, seen, server

OWN = sampleset_node_label("default", "imagenet")
OTHER = sampleset_node_label("other", "imagenet")
SHARED = "paddlepaddle.org/juicefs-imagenet"
MINE = "imagenet-runtime-0"


@pytest.mark.parametrize(
    ("present", "wanted", "removed"),
    [
        pytest.param({}, {OWN: MINE, SHARED: MINE}, {}, id="a node without labels"),
        pytest.param({OWN: MINE, SHARED: MINE}, {}, {OWN: None, SHARED: None}, id="all is right"),
        pytest.param(
            {OWN: "imagenet-runtime-7", SHARED: "imagenet-runtime-7"},
            {OWN: MINE, SHARED: MINE},
            {OWN: None, SHARED: None},
            id="another partition was here",
        ),
        pytest.param(
            {OTHER: "imagenet-runtime-3", SHARED: "imagenet-runtime-3"},
            {OWN: MINE},
            {},
            id="a set of that name in another namespace has the old label",
        ),
        pytest.param(
            {OWN: MINE, OTHER: "imagenet-runtime-3", SHARED: "imagenet-runtime-3"},
            {},
            {OWN: None},
            id="and keeps it",
        ),
        pytest.param({"zone": "a", OWN: MINE}, {SHARED: MINE}, {OWN: None}, id="labels of others do not matter"),
    ],
)
def test_labels_are_set_and_removed_and_those_of_others_left_alone(
    present: dict[str, str], wanted: dict[str, str], removed: dict[str, None]
) -> None:
    snapshot = seen(None, server(), nodes={"node-0": node("node-0", **present)})
    assert label_changes(snapshot) == ((("node-0", wanted),) if wanted else ())
    assert labels_left(snapshot) == ((("node-0", removed),) if removed else ())


def test_a_node_without_a_server_loses_its_label() -> None:
    nodes = {"gone": node("gone", **{OWN: MINE, SHARED: MINE}), "node-0": node("node-0", **{OWN: MINE, SHARED: MINE})}
    assert label_changes(seen(None, server(), nodes=nodes)) == (("gone", {OWN: None, SHARED: None}),)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([server(ready=False)], id="is not ready"),
        pytest.param([server(deleted="2026-01-01T12:00:00Z")], id="stops"),
        pytest.param([], id="has no pod"),
        pytest.param([replace(server(), pod=replace(server().pod, node=""))], id="has a pod without a node"),
    ],
)
def test_a_server_that_may_come_back_keeps_its_label(found: list[Runtime]) -> None:
    here = {"node-0": node("node-0", **{OWN: MINE, SHARED: MINE})}
    assert label_changes(seen(None, *found, nodes=here)) == ()


def test_a_server_that_is_given_up_loses_its_label() -> None:
    for name, found in ((MINE, server(1, "node-0")), ("imagenet-runtime-1", server(1, "node-0"))):
        here = {"node-0": node("node-0", **{OWN: name, SHARED: name}), "node-1": node("node-1")}
        snapshot = seen(decoded(partitions=1), server(0, "node-1"), found, nodes=here)
        assert label_changes(snapshot)[0] == ("node-0", {OWN: None, SHARED: None})


def test_a_node_that_is_gone_is_not_labelled() -> None:
    assert label_changes(seen(None, server(), nodes={})) == ()
