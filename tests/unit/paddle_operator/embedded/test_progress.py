"""How something that is waited for stands."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded import progress


def of(kind: str, phase: str, **status: object) -> Manifest:
    return {"kind": kind, "metadata": {"name": "one", "uid": "1"}, "status": {"phase": phase, **status}}


def cache(word: str, ready: str) -> Manifest:
    status = {"cacheStatus": word, "conditions": [{"type": "Ready", "status": ready}]}
    return {"kind": "CacheBackend", "metadata": {"name": "one"}, "status": status}


def pod(phase: str, policy: str, ready: str = "False") -> Manifest:
    return of("Pod", phase, conditions=[{"type": "Ready", "status": ready}]) | {"spec": {"restartPolicy": policy}}


def servers(replicas: int, **status: int) -> Manifest:
    return {"kind": "StatefulSet", "metadata": {"name": "one"}, "spec": {"replicas": replicas}, "status": status}


@pytest.mark.parametrize(
    ("manifest", "good"),
    [
        pytest.param(of("PaddleJob", "Running"), None, id="a job that runs"),
        pytest.param(of("PaddleJob", "Completed"), True, id="a job that is completed"),
        pytest.param(of("PaddleJob", "Failed"), False, id="a job that failed"),
        pytest.param(of("SampleSet", "PartialReady"), None, id="a set that is not whole"),
        pytest.param(of("SampleSet", "Ready"), True, id="a set that is ready"),
        pytest.param(of("SampleJob", "Succeeded"), True, id="a SampleJob that is done"),
        pytest.param(cache("PVCCreating", "False"), None, id="a cache that is being made"),
        pytest.param(cache("PVCCreated", "True"), True, id="a cache that is there"),
        pytest.param(cache("CacheFailed", "False"), False, id="a cache that cannot be"),
        pytest.param(pod("Running", "Never"), None, id="a pod that runs"),
        pytest.param(pod("Succeeded", "Never"), True, id="a pod that is done"),
        pytest.param(pod("Failed", "Never"), False, id="a pod that failed"),
        pytest.param(pod("Running", "Always"), None, id="a server that begins"),
        pytest.param(pod("Running", "Always", ready="True"), True, id="a server that is ready"),
        pytest.param(servers(2, readyReplicas=1), None, id="servers of which one is missing"),
        pytest.param(servers(2, readyReplicas=2), True, id="servers that are all ready"),
        pytest.param({"kind": "Secret", "metadata": {"name": "x"}}, True, id="something that has no end"),
    ],
)
def test_phases_say_whether_it_is_over(manifest: Manifest, *, good: bool | None) -> None:
    assert progress.standing(manifest).good is good


def test_what_stalls_is_given_a_moment() -> None:
    stalled = {"type": "Stalled", "status": "True", "message": "there is no Secret"}
    found = progress.standing(of("SampleSet", "", conditions=[stalled]))
    assert (found.good, found.words) == (None, "there is no Secret")
    assert found.patience


def test_what_a_data_sets_job_has_done_of_its_work_is_shown() -> None:
    assert progress.standing(of("SampleJob", "Running", progress="37%")).words == "37%"
