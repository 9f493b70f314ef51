"""The plug-in disturbs nobody who has it installed and does not use it, and keeps what failed tests leave apart."""

import contextlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localkube import diagnostics, pytest_plugin
from localkube.cluster import Cluster

Failed = Callable[[str, str], None]

WITHOUT_EXTRAS = "import sys; sys.modules['cryptography'] = None; import localkube.pytest_plugin"
LONG = "tests/cluster/test_paddlejob.py::test_a_rule_whose_name_is_longer_than_forty_characters_and_has_cases"


def test_it_loads_where_nothing_but_the_operator_is_installed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], check=True)


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failed:
    """Report a failure of a test that used the cluster, of which no more is kept than one file."""

    def report(test: str, file: str) -> None:
        def collect(_: Cluster, place: Path) -> None:
            place.mkdir()
            (place / file).touch()

        monkeypatch.setattr(diagnostics, "collect", collect)
        stash = {pytest_plugin.CLUSTER: "a cluster"}
        config = SimpleNamespace(stash=stash, getoption=lambda _: str(tmp_path))
        item: Any = SimpleNamespace(nodeid=test, name=test.rpartition(":")[2], fixturenames=("kube",), config=config)
        hook: Any = pytest_plugin.pytest_runtest_makereport(item)
        next(hook)
        with contextlib.suppress(StopIteration):
            hook.send(SimpleNamespace(failed=True, when="call", sections=[]))

    return report


def test_each_case_of_a_test_keeps_its_own_and_nothing_of_an_earlier_run(tmp_path: Path, failed: Failed) -> None:
    failed(f"{LONG}[one]", "old")
    failed(f"{LONG}[one]", "new")
    failed(f"{LONG}[other]", "other")
    assert {entry.name[: entry.name.index("-and-has-cases")] for entry in tmp_path.iterdir()} == {
        "tests-cluster-test-paddlejob-py-test-a-rule-whose-name-is-longer-than-forty-characters"
    }
    assert sorted(file.name for file in tmp_path.glob("*/*")) == ["new", "other"]


def test_a_name_of_any_length_can_be_a_directory() -> None:
    labels = {pytest_plugin._label(f"{LONG}[{'x' * 500}{number}]") for number in range(2)}
    assert len(labels) == 2
    assert max(map(len, labels)) < 200
