"""The cluster's own scenarios of data, unchanged, on one machine: the documents' set, its jobs, and caches."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.test_cachebackend import (
    test_a_running_job_that_is_deleted_gives_back_the_cache_that_it_shares,
    test_jobs_share_a_cache_find_each_other_and_give_it_back,
    test_the_documents_job_reads_its_data_from_its_own_cache_and_takes_it_with_it,
)
from cluster.test_samplejob import (
    Reading,
    test_each_rank_of_a_training_reads_what_its_partition_was_warmed_for_in_the_order_foretold,
    test_the_documents_four_jobs_do_what_their_tables_say,
)
from cluster.test_sampleset import test_the_documents_set_becomes_ready_and_its_table_is_theirs
from support import imagenet, mnist
from support.csivolumes import SYSTEM
from support.imagenet import Watched
from support.mnist import Training
from support.onemachine import OneMachine, at_service, kubectl

__all__ = [
    "test_a_running_job_that_is_deleted_gives_back_the_cache_that_it_shares",
    "test_each_rank_of_a_training_reads_what_its_partition_was_warmed_for_in_the_order_foretold",
    "test_jobs_share_a_cache_find_each_other_and_give_it_back",
    "test_the_documents_four_jobs_do_what_their_tables_say",
    "test_the_documents_job_reads_its_data_from_its_own_cache_and_takes_it_with_it",
    "test_the_documents_set_becomes_ready_and_its_table_is_theirs",
]


def written(place: Path, contents: dict[str, str]) -> Path:
    for name, content in contents.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return place


@pytest.fixture(scope="module")
def served(paddle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneMachine]:
    with at_service(tmp_path_factory.mktemp("machine"), f"--venv={paddle}") as machine:
        yield machine


@pytest.fixture(scope="module")
def data(served: OneMachine, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Have the documents' set, with a directory of this machine as its source."""
    source = written(tmp_path_factory.mktemp("imagenet"), imagenet.FILES)
    found = Watched(kubectl(served, SYSTEM))
    keys = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store"}, "stringData": imagenet.KEYS}
    found.kubectl.apply(keys, imagenet.sample_set(f"file://{source}"))
    found.until_ready(1)
    return found


@pytest.fixture(scope="module")
def training(served: OneMachine, tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Have the document's data in a directory of this machine."""
    return Training(kubectl(served), "demo", str(written(tmp_path_factory.mktemp("mnist"), mnist.FILES)))


@pytest.fixture(scope="module")
def ranks() -> int:
    """Have one partition, since this is one node, and as many ranks."""
    return 1


class NoLog:
    """A store that is a directory keeps none: what the client had to fetch is all that is known."""

    def reads(self) -> list[str]:
        return []


@pytest.fixture
def reading() -> Reading:
    return lambda: contextlib.nullcontext(NoLog())


@pytest.fixture(scope="module")
def paddlebox() -> str:
    """Name any image: PaddlePaddle comes from elsewhere."""
    return "demo"
