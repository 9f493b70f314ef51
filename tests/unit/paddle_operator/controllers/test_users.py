"""Which jobs keep a SampleSet from being deleted."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.api.samplejob import SampleJobStatus
from paddle_operator.controllers.users import has_begun, has_pods, status_of


@pytest.mark.parametrize(
    ("status", "uses"),
    [
        pytest.param({}, False, id="a new job"),
        pytest.param({"phase": "Pending"}, False, id="it waits for its data"),
        pytest.param({"phase": "Pending", "worker": {"pending": 1}}, True, id="its pods start"),
        pytest.param({"phase": "Running", "ps": {"running": 1}}, True, id="it runs"),
        pytest.param({"phase": "Running", "heter": {"unknown": 1}}, True, id="nobody knows of its pods"),
        pytest.param({"phase": "Failed", "ps": {"running": 1}}, False, id="it has ended"),
        pytest.param({"phase": "Suspended", "worker": {"failed": 1}}, False, id="it is suspended"),
        pytest.param({"phase": 5, "worker": "many"}, False, id="nobody can read it"),
    ],
)
def test_a_paddle_job_uses_a_set_as_long_as_it_has_pods(status: Manifest, *, uses: bool) -> None:
    assert has_pods(status_of({"status": status}, PaddleJobStatus)) is uses


@pytest.mark.parametrize(
    ("status", "uses"),
    [
        pytest.param({}, False, id="a new job"),
        pytest.param({"phase": "Pending"}, False, id="it waits"),
        pytest.param({"phase": "Pending", "jobName": "warmup-1"}, True, id="servers have it"),
        pytest.param({"phase": "Running"}, True, id="it runs"),
        pytest.param({"phase": "Succeeded", "jobName": "warmup-1"}, False, id="it is done"),
        pytest.param({"results": 5}, False, id="nobody can read it"),
    ],
)
def test_a_sample_job_uses_a_set_as_long_as_servers_work_on_it(status: Manifest, *, uses: bool) -> None:
    assert has_begun(status_of({"status": status}, SampleJobStatus)) is uses
