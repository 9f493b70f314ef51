"""Strategic merge patches."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.resources import builtin
from paddle_operator.embedded.apiserver.strategic import patched

PODS = next(found.schema for found in builtin() if found.kind.plural == "pods")
POD: Manifest = {
    "metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x", "y"]},
    "spec": {"containers": [{"name": "main", "image": "one", "tty": True}, {"name": "beside", "image": "two"}]},
}


@pytest.mark.parametrize(
    ("change", "path", "wanted"),
    [
        pytest.param(
            {"metadata": {"labels": {"a": None, "c": "3"}}}, ("metadata", "labels"), {"b": "2", "c": "3"}, id="maps"
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "main", "image": "three"}]}},
            ("spec", "containers"),
            [{"name": "main", "image": "three", "tty": True}, {"name": "beside", "image": "two"}],
            id="an item by its name",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "beside", "$patch": "delete"}]}},
            ("spec", "containers"),
            [{"name": "main", "image": "one", "tty": True}],
            id="an item taken away",
        ),
        pytest.param(
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}},
            ("metadata", "finalizers"),
            ["y"],
            id="a word less",
        ),
        pytest.param(
            {"metadata": {"labels": {"$patch": "replace", "z": "9"}}}, ("metadata", "labels"), {"z": "9"}, id="all"
        ),
        pytest.param(
            {"spec": {"$setElementOrder/containers": [{"name": "main"}]}},
            ("spec", "containers"),
            POD["spec"]["containers"],
            id="an order alone changes nothing",
        ),
    ],
)
def test_a_patch_changes_what_it_names(change: dict[str, object], path: tuple[str, str], wanted: object) -> None:
    found = patched(POD, change, PODS)
    assert isinstance(found, dict)
    assert found[path[0]][path[1]] == wanted
