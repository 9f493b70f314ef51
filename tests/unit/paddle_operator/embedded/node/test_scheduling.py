"""Which pods may be on the one node."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import LABEL_SAMPLESET
from paddle_operator.embedded.node.machine import NAME
from paddle_operator.embedded.node.scheduling import repels
from support import workloads


def server(name: str, of: str = "numbers", *, node: str = "", phase: str = "Pending") -> Manifest:
    metadata = {"namespace": "default", "name": name, "labels": {LABEL_SAMPLESET: of}}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        pytest.param(server("b"), server("a", node=NAME), True, id="one is here"),
        pytest.param(server("b"), server("a"), True, id="both come at once"),
        pytest.param(server("a"), server("b"), False, id="it comes first"),
        pytest.param(server("a"), server("b", node=NAME), True, id="a later one was here before"),
        pytest.param(server("b"), server("a", node=NAME, phase="Failed"), False, id="the other has ended"),
        pytest.param(server("b"), server("a", "others", node=NAME), False, id="of another data set"),
        pytest.param(server("a"), server("a", node=NAME), False, id="itself"),
    ],
)
def test_each_server_of_a_data_set_takes_the_node(first: Manifest, second: Manifest, *, apart: bool) -> None:
    assert repels(first, second) == apart


def test_affinities_of_other_pods_are_ignored() -> None:
    first, second = (workloads.sleeping_pod(name, affinity=workloads.one_per_node("two")) for name in ("a", "b"))
    second["metadata"]["labels"] = first["metadata"]["labels"] = {"app": "two"}
    second["spec"]["nodeName"] = NAME
    assert not repels(first, second)
