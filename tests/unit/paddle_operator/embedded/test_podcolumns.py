"""The columns of pods."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.podcolumns import cells, word

RUNS = {"state": {"running": {}}, "ready": True}
ENDED = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
WAITS = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 3}


def pod(phase: str, *main: Manifest, first: tuple[Manifest, ...] = (), going: bool = False) -> Manifest:
    return {
        "metadata": {"name": "one", **({"deletionTimestamp": "now"} if going else {})},
        "spec": {"containers": [{"name": str(number)} for number in range(len(main))]},
        "status": {"phase": phase, "containerStatuses": list(main), "initContainerStatuses": list(first)},
    }


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(pod("Running", RUNS), "Running", id="it runs"),
        pytest.param(pod("Running", RUNS, ENDED), "Running", id="one has ended"),
        pytest.param(pod("Succeeded", ENDED), "Completed", id="it has ended"),
        pytest.param(pod("Running", WAITS), "CrashLoopBackOff", id="it is started again"),
        pytest.param(pod("Pending", WAITS, first=(RUNS, WAITS)), "Init:CrashLoopBackOff", id="its beginning fails"),
        pytest.param(pod("Pending", WAITS, first=(ENDED, RUNS)), "Init:1/2", id="it begins"),
        pytest.param(pod("Running", RUNS, going=True), "Terminating", id="it is deleted"),
    ],
)
def test_a_pod_says_in_a_word_how_it_stands(found: Manifest, wanted: str) -> None:
    assert word(found) == wanted


def test_containers_are_counted() -> None:
    assert cells(pod("Running", RUNS, WAITS))[:3] == ["1/2", "CrashLoopBackOff", "3"]
