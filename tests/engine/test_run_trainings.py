"""The cluster's own trainings, unchanged, on one machine: real Paddle, from a virtual environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.test_paddlejob_training import (
    JOBS,
    test_a_single_worker_trains,
    test_paddle_takes_each_of_three_roles_for_what_it_is,
    test_the_demo_of_the_documents_trains,
    test_workers_agree_on_who_is_who_and_train_one_model,
    test_workers_learn_from_each_other_through_parameter_servers,
)
from support.examples import trainings
from support.manifests import changed, circulating
from support.onemachine import at_service, kubectl
from support.paddlejobs import Jobs

__all__ = [
    "test_a_single_worker_trains",
    "test_paddle_takes_each_of_three_roles_for_what_it_is",
    "test_the_demo_of_the_documents_trains",
    "test_workers_agree_on_who_is_who_and_train_one_model",
    "test_workers_learn_from_each_other_through_parameter_servers",
]


@pytest.fixture(scope="module")
def jobs(paddle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """Have all trainings under way, and the documents' set, of a directory of this machine, for the one that reads."""
    source = tmp_path_factory.mktemp("imagenet")
    (source / "train_list.txt").write_text("n01514859/0001.jpg 0\n")
    with at_service(tmp_path_factory.mktemp("machine"), f"--venv={paddle}") as machine:
        asks = kubectl(machine)
        data = changed(circulating("SampleSet/imagenet"), {"spec.source.uri": f"file://{source}"})
        asks.apply(trainings(), data, *JOBS)
        yield Jobs(asks)
