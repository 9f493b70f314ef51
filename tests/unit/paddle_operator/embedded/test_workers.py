"""Which container of a job failed first."""

import pytest

from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.embedded.apiserver.storage import Storage
from paddle_operator.embedded.workers import Failures
from paddle_operator.kube.request import PODS

JOB = "1"


def ended(code: int, second: int) -> Manifest:
    return {"state": {"terminated": {"exitCode": code, "finishedAt": f"2026-01-01T00:00:{second:02}Z"}}}


def pod(name: str, *containers: Manifest, owner: str = JOB, first: tuple[Manifest, ...] = ()) -> Manifest:
    metadata = {"name": name, "uid": name, "ownerReferences": [{"uid": owner, "controller": True}]}
    return {
        "metadata": metadata,
        "status": {"containerStatuses": list(containers), "initContainerStatuses": list(first)},
    }


def stopped(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("pods", "code"),
    [
        pytest.param([pod("a", ended(0, 1)), pod("b", ended(3, 2))], 3, id="of those that failed"),
        pytest.param([pod("b", ended(3, 1)), pod("a", ended(4, 2))], 3, id="by time, not by name"),
        pytest.param([pod("a", ended(4, 9), ended(3, 2))], 3, id="by time in one pod"),
        pytest.param([pod("a", {"state": {"waiting": {}}}, first=(ended(5, 1),))], 5, id="an init container"),
        pytest.param([stopped(pod("a", ended(143, 1))), pod("b", ended(3, 2))], 3, id="not one that was stopped"),
        pytest.param([pod("a", ended(4, 1), owner="2")], 1, id="not of another job"),
        pytest.param([], 1, id="none that is known"),
    ],
)
def test_a_job_has_the_code_of_its_container_that_failed_first_although_the_pods_are_gone(
    pods: list[Manifest], code: int
) -> None:
    storage, failures = Storage(), Failures()
    storage.listen(failures.hear)
    for manifest in pods:
        storage.put(PODS, manifest)
    for manifest in pods:
        storage.remove(PODS, key_of(manifest))
    assert failures.code(JOB) == code


def test_a_pod_without_an_owner_has_a_code_of_its_own() -> None:
    storage, failures = Storage(), Failures()
    storage.listen(failures.hear)
    storage.put(PODS, {**pod("alone", ended(6, 1)), "metadata": {"name": "alone", "uid": "alone"}})
    assert failures.code("alone") == 6
