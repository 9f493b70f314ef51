"""pytest fixtures: one real cluster per run, a namespace per test, and everything to look at when a test fails."""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from localkube import clusters, diagnostics, errors, lock, preflight
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until

CLUSTER = pytest.StashKey[Cluster]()
HAS_NAMESPACE = pytest.StashKey[bool]()
RUNS_AT_ONCE = 8
ACCOUNT_TIMEOUT = 60.0
LONGEST_LABEL = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("localkube", "a real Kubernetes for the tests")
    group.addoption("--localkube-nodes", type=int, default=3, help="how many nodes the cluster has (3)")
    group.addoption(
        "--localkube-keep",
        action="store_true",
        default=os.environ.get("LOCALKUBE_KEEP") == "1",
        help="leave the cluster up for the next run (also LOCALKUBE_KEEP=1)",
    )
    group.addoption("--localkube-artifacts", default="test-artifacts", help="where failed tests leave their state")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep the state of the cluster before anything is torn down."""
    report: pytest.TestReport = yield  # type: ignore[assignment]  # what pytest sends into the wrapper
    cluster = item.config.stash.get(CLUSTER, None)
    if report.failed and cluster is not None and _uses_cluster(item):
        place = Path(item.config.getoption("--localkube-artifacts")) / f"{_label(item.nodeid)}-{report.when}"
        shutil.rmtree(place, ignore_errors=True)  # of an earlier run
        diagnostics.collect(cluster, place)
        report.sections.append(("localkube", f"objects, events and logs are in {place}"))
    return report  # type: ignore[return-value]


def _uses_cluster(item: pytest.Item) -> bool:
    """Tell whether a test asked for it, be it in its own words or while it ran."""
    return "kube" in getattr(item, "fixturenames", ()) or item.stash.get(HAS_NAMESPACE, False)


@pytest.fixture(scope="session")
def localkube_home() -> Home:
    """Give the machine's state and cache; skip, loudly, where a cluster cannot be, unless it is required."""
    home = Home.from_environment()
    if problems := preflight.problems(home):
        reason = f"NO KUBERNETES HERE: {' '.join(problems)}"
        if os.environ.get("LOCALKUBE_REQUIRED") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return home


@pytest.fixture(scope="session")
def localkube_progress(pytestconfig: pytest.Config) -> Iterator[Progress]:
    """Speak past pytest's capture: bringing up a cluster is worth watching."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        own = os.dup(2)
    with os.fdopen(own, "w") as terminal:
        yield Progress(Console(file=terminal, highlight=False, soft_wrap=True))


@pytest.fixture(scope="session")
def kube(localkube_home: Home, localkube_progress: Progress, pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """One cluster for the whole run; one that an earlier run left in order, and healthy, is used again."""
    with _own_name(localkube_home) as name:
        request = clusters.Request(name, nodes=pytestconfig.getoption("--localkube-nodes"))
        cluster = clusters.up(localkube_home, request, localkube_progress, replace_other=True)
        cluster.paths.dirty.touch()
        pytestconfig.stash[CLUSTER] = cluster
        yield cluster
        del pytestconfig.stash[CLUSTER]
        if pytestconfig.getoption("--localkube-keep"):
            cluster.paths.dirty.unlink(missing_ok=True)
        else:
            clusters.down(localkube_home, name, localkube_progress)


@contextlib.contextmanager
def _own_name(home: Home) -> Iterator[str]:
    """Take the first name that no other run is using now; a killed run's name is free, and its cluster is found."""
    names = ["pytest", *(f"pytest-{number}" for number in range(2, RUNS_AT_ONCE + 1))]
    locks = {home.state / f".{name}.in-use": name for name in names}
    with lock.first_free(iter(locks)) as held:
        if held is None:
            raise errors.LocalkubeError(f"{RUNS_AT_ONCE} test runs are going on at once: wait for one of them")
        yield locks[held]


@pytest.fixture
def namespace(kube: Cluster, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Give the test a namespace of its own, as a kubectl bound to it."""
    kubectl = Kubectl.of(kube, f"{_dashed(request.node.name)}-{secrets.token_hex(3)}")
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": kubectl.namespace}})
    request.node.stash[HAS_NAMESPACE] = True
    # Without it no pod is admitted.
    wait_until(lambda: bool(kubectl.get("serviceaccount/default")), ACCOUNT_TIMEOUT, "the namespace gets no account")
    yield kubectl
    kubectl.delete("namespace", kubectl.namespace)


def _dashed(test: str, longest: int = 40) -> str:
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")[:longest].strip("-")


def _label(test: str) -> str:
    """Name a test so that one can see which it is, and no two have one name."""
    return f"{_dashed(test, LONGEST_LABEL)}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
