"""The cluster's own scenarios of PaddleJobs, unchanged, on one machine without a cluster: a difference is a defect."""

import secrets
from collections.abc import Iterator

import pytest

from cluster.test_crds import test_the_short_name_of_a_paddlejob_is_known, test_wide_tables_show_the_newer_columns
from cluster.test_network import test_a_headless_service_names_each_pod
from cluster.test_paddlejob import (
    test_jobs_that_cannot_work_say_why_and_others_go_on,
    test_pods_of_every_mode_find_each_other_at_every_kind_of_address,
    test_workers_wait_for_ready_servers,
)
from cluster.test_paddlejob_access import live_through_everything
from cluster.test_paddlejob_chaos import test_a_killed_pod_comes_back_and_the_others_do_not_notice
from cluster.test_paddlejob_data import test_a_job_waits_for_data_that_there_is_not_yet_and_not_for_ever
from cluster.test_paddlejob_life import (
    test_a_job_starts_anew_as_a_whole_and_not_too_often,
    test_a_live_job_is_suspended_scaled_and_changed,
    test_a_worker_that_begins_when_another_has_ended_does_not_wait_for_it,
    test_a_worker_that_has_ended_well_is_not_run_again,
    test_deleted_at_any_moment_a_job_leaves_nothing,
    test_pods_stay_or_go_as_the_policy_says,
)
from localkube.kubectl import Kubectl
from support.onemachine import TESTBOX, OneMachine, at_service, kubectl
from support.paddlejobs import Jobs

__all__ = [
    "test_a_headless_service_names_each_pod",
    "test_a_job_starts_anew_as_a_whole_and_not_too_often",
    "test_a_job_waits_for_data_that_there_is_not_yet_and_not_for_ever",
    "test_a_killed_pod_comes_back_and_the_others_do_not_notice",
    "test_a_live_job_is_suspended_scaled_and_changed",
    "test_a_worker_that_begins_when_another_has_ended_does_not_wait_for_it",
    "test_a_worker_that_has_ended_well_is_not_run_again",
    "test_deleted_at_any_moment_a_job_leaves_nothing",
    "test_jobs_that_cannot_work_say_why_and_others_go_on",
    "test_pods_of_every_mode_find_each_other_at_every_kind_of_address",
    "test_pods_stay_or_go_as_the_policy_says",
    "test_the_short_name_of_a_paddlejob_is_known",
    "test_wide_tables_show_the_newer_columns",
    "test_workers_wait_for_ready_servers",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneMachine]:
    with at_service(tmp_path_factory.mktemp("machine"), TESTBOX) as machine:
        yield machine


@pytest.fixture
def namespace(served: OneMachine) -> Iterator[Kubectl]:
    """Give a namespace of the test's own, by the same kubectl as a cluster."""
    made = kubectl(served, f"scenario-{secrets.token_hex(3)}")
    made.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.namespace}})
    yield made
    made.run("delete", "namespace", made.namespace, "--wait=false")


@pytest.fixture
def jobs(namespace: Kubectl) -> Jobs:
    return Jobs(namespace)


@pytest.fixture
def kinds_collected() -> None:
    """Have nothing to wait for: this garbage collector knows all kinds."""


def test_jobs_live_through_all_that_a_manager_does(jobs: Jobs) -> None:
    live_through_everything(jobs)
