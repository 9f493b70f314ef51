"""How something that is waited for stands."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded import progress


def of(kind: str, phase: str, **status: object) -> Manifest:
    return {"kind": kind, "metadata": {"name": "one", "uid": "1"}, "status": {"phase": phase, **status}}


def cache(word: str, ready: str) -> Manifest:
    status = {"cacheStatus": word, "conditions": [{"type": "Ready", "status": ready}]}
    return {"kind": "CacheBackend", "metadata": {"name": "one"}, "status": status}


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


def pod(code: int, owner: str = "1") -> Manifest:
    state = {"state": {"terminated": {"exitCode": code}}}
    owners = [{"uid": owner, "controller": True}]
    return {"metadata": {"name": f"pod-{code}", "ownerReferences": owners}, "status": {"containerStatuses": [state]}}


@pytest.mark.parametrize(
    ("pods", "code"),
    [
        pytest.param([pod(0), pod(3)], 3, id="of its own pods"),
        pytest.param([pod(4, owner="2")], 1, id="not of another's"),
        pytest.param([], 1, id="none that is known"),
    ],
)
def test_a_job_that_failed_has_the_code_of_the_container_that_did(pods: list[Manifest], code: int) -> None:
    assert progress.exit_code(of("PaddleJob", "Failed"), pods) == code
