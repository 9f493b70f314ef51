"""The cluster's own scenarios, unchanged, on one machine without a cluster: a difference is a defect."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.test_paddlejob import test_pods_of_every_mode_find_each_other_at_every_kind_of_address
from cluster.test_paddlejob_life import (
    test_a_job_starts_anew_as_a_whole_and_not_too_often,
    test_a_live_job_is_suspended_scaled_and_changed,
    test_deleted_at_any_moment_a_job_leaves_nothing,
    test_pods_stay_or_go_as_the_policy_says,
)
from localkube.kubectl import Kubectl
from support.onemachine import OneMachine, kubectl, serving
from support.paddlejobs import Jobs

TESTBOX = Path(__file__).parents[1] / "cluster/testbox"
__all__ = [
    "test_a_job_starts_anew_as_a_whole_and_not_too_often",
    "test_a_live_job_is_suspended_scaled_and_changed",
    "test_deleted_at_any_moment_a_job_leaves_nothing",
    "test_pods_of_every_mode_find_each_other_at_every_kind_of_address",
    "test_pods_stay_or_go_as_the_policy_says",
]


@pytest.fixture
def namespace(machine: OneMachine) -> Iterator[Kubectl]:
    """Give a run that stays, by the same kubectl as a cluster."""
    with serving(machine, f"--mount={TESTBOX}=/opt/testbox"):
        yield kubectl(machine)


@pytest.fixture
def jobs(namespace: Kubectl) -> Jobs:
    return Jobs(namespace)


@pytest.fixture
def kinds_collected() -> None:
    """Have nothing to wait for: this garbage collector knows all kinds."""
