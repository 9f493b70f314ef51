"""A cluster comes, goes, is killed half way and comes again; this machine looks as before."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from localkube import clusters, commands, errors, faults, spec, temporary
from localkube.cluster import Cluster
from localkube.init import network
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import machine

ROUNDS = int(os.environ.get("LOCALKUBE_KILL_ROUNDS", "3"))
LONGEST_UP = 9.0
# One for all, so that what it makes is known from what other clusters make.
NAME = "tested"


@pytest.fixture
def home(localkube_home: Home) -> Iterator[Home]:
    """A home of the test's own, with the machine's cache; whatever happens, nothing of it stays."""
    with temporary.home(localkube_home.cache, Progress()) as own:
        yield own


@pytest.fixture
def before(home: Home) -> machine.Trace:
    return _trace(home)


def _trace(home: Home) -> machine.Trace:
    return machine.trace(spec.ident_of(home.cluster(NAME).root))


def _localkube(home: Home, *words: str) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "LOCALKUBE_HOME": str(home.state), "LOCALKUBE_CACHE": str(home.cache)}
    argv = [sys.executable, "-m", "localkube", *words]
    return subprocess.Popen(argv, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _run(home: Home, *words: str) -> tuple[int, str]:
    process = _localkube(home, *words)
    _, said = process.communicate(timeout=300)
    return process.returncode, said.decode()


def _assert_clean(home: Home, before: machine.Trace) -> None:
    after = _trace(home)
    for what, rows in before.items():
        assert after[what] - rows == frozenset(), f"{what} left behind"
        assert rows - after[what] == frozenset(), f"{what} that were not ours are gone"


def test_two_clusters_live_side_by_side_each_with_its_own_settings_and_know_nothing_of_each_other(
    kube: Cluster, home: Home, before: machine.Trace, namespace: Kubectl
) -> None:
    request = clusters.Request(
        NAME,
        nodes=1,
        feature_gates="GenericWorkload=true,GangScheduling=true",
        runtime_config="scheduling.k8s.io/v1alpha1=true",
    )
    second = clusters.up(home, request, Progress())
    assert second.spec.block != kube.spec.block
    other = Kubectl.of(second)
    assert [node["metadata"]["name"] for node in other.items("nodes")] == ["node-1"]
    assert namespace.namespace not in {item["metadata"]["name"] for item in other.items("namespaces")}
    assert "workloads" in other.run("api-resources", "--api-group=scheduling.k8s.io", "-o", "name")
    assert "workloads" not in namespace.run("api-resources", "--api-group=scheduling.k8s.io", "-o", "name")
    assert kube.healthy()
    assert clusters.down(home, NAME, Progress())
    assert kube.healthy()
    _assert_clean(home, before)


def test_up_twice_changes_nothing_and_down_twice_is_no_error(home: Home, before: machine.Trace) -> None:
    first = clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
    processes = first.control.status()
    kubeconfig = first.paths.kubeconfig.read_text()
    second = clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
    assert second.spec == first.spec
    assert {name: state.pid for name, state in second.control.status().items()} == {
        name: state.pid for name, state in processes.items()
    }
    assert second.paths.kubeconfig.read_text() == kubeconfig
    assert clusters.down(home, NAME, Progress())
    assert not clusters.down(home, NAME, Progress())
    _assert_clean(home, before)


def test_a_cluster_grows_keeps_its_other_settings_and_after_a_reboot_its_data(home: Home) -> None:
    cluster = clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
    Kubectl.of(cluster).run("create", "configmap", "kept", "--from-literal=key=value")
    grown = clusters.up(home, clusters.Request(NAME, nodes=2), Progress())
    assert grown.api.ready_nodes() == {"node-1", "node-2"}
    with pytest.raises(errors.LocalkubeError, match=r"exists with other settings \(disk\)"):
        clusters.up(home, clusters.Request(NAME, nodes=2, disk="5G"), Progress())
    with pytest.raises(errors.LocalkubeError, match=r"exists with other settings \(nodes\)"):
        clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
    os.kill(cluster.control.pid(), signal.SIGKILL)
    wait_until(lambda: not cluster.control.alive(), 90, "it lives on")
    # As a reboot does. By itself, the kernel may keep a network for minutes in which connections wait for dead nodes.
    commands.succeeds(["ip", "link", "delete", cluster.spec.link])
    network.release(cluster.spec.ident)
    again = clusters.up(home, clusters.Request(NAME, nodes=2), Progress())
    assert network.claims(cluster.spec.ident) == [cluster.spec.block]
    assert Kubectl.of(again).get("configmap/kept")["data"] == {"key": "value"}


def test_a_cluster_that_cannot_be_trusted_is_made_anew_when_asked_to(home: Home) -> None:
    paths = home.cluster(NAME)
    paths.root.mkdir(parents=True)
    paths.spec.write_text('{"name": "strange", "from": "the future"}')
    first = clusters.up(home, clusters.Request(NAME, nodes=1), Progress(), replace_other=True)
    process = first.control.pid()
    again = clusters.up(home, clusters.Request(NAME, nodes=1), Progress(), replace_other=True)
    assert (again.control.pid(), again.healthy()) == (process, True)
    faults.component(again, "node-1/kube-proxy").stop()
    assert not again.healthy()
    faults.component(again, "node-1/kube-proxy").start()
    assert again.healthy()
    paths.dirty.touch()
    assert clusters.up(home, clusters.Request(NAME, nodes=1), Progress()).control.pid() == process
    anew = clusters.up(home, clusters.Request(NAME, nodes=1), Progress(), replace_other=True)
    assert (anew.control.pid() != process, anew.healthy(), paths.dirty.exists()) == (True, True, False)


@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_killed_at_a_random_moment_up_goes_on_and_down_leaves_nothing(home: Home, before: machine.Trace) -> None:
    seed = random.randrange(10**6)  # noqa: S311 moments, not secrets
    moments = random.Random(seed)  # noqa: S311
    for number in range(ROUNDS):
        moment = moments.uniform(0.1, LONGEST_UP)
        begun = _localkube(home, "up", "--name", NAME, "--nodes", "3")
        time.sleep(moment)
        begun.kill()
        begun.communicate()
        where = f"round {number}, killed after {moment:.2f} s, seed {seed}"
        code, said = _run(home, "up", "--name", NAME, "--nodes", "3")
        assert code == 0, f"{where}: {said}"
        cluster = clusters.find(home, NAME)
        assert cluster.healthy(), where
        code, said = _run(home, "down", "--name", NAME)
        assert code == 0, f"{where}: {said}"
        _assert_clean(home, before)


@pytest.mark.timeout(300)
def test_killed_at_a_random_moment_down_alone_leaves_nothing(home: Home, before: machine.Trace) -> None:
    for moment in (0.3, 0.8, 1.5, 3.0, 4.5):
        begun = _localkube(home, "up", "--name", NAME, "--nodes", "3")
        time.sleep(moment)
        begun.kill()
        begun.communicate()
        code, said = _run(home, "down", "--name", NAME)
        assert code == 0, f"killed after {moment} s: {said}"
        _assert_clean(home, before)


def test_a_killed_down_is_finished_by_the_next(home: Home, before: machine.Trace) -> None:
    for moment in (0.35, 0.45, 0.55):
        clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
        ending = _localkube(home, "down", "--name", NAME)
        time.sleep(moment)
        ending.kill()
        ending.communicate()
        clusters.down(home, NAME, Progress())
        _assert_clean(home, before)


def test_down_removes_a_cluster_of_another_version_and_nothing_that_it_did_not_make(
    home: Home, before: machine.Trace
) -> None:
    """A route and a link of somebody else's, with names and ranges that are close to ours, stay."""
    commands.run(["ip", "link", "add", "lk-of-other", "type", "veth", "peer", "name", "lk-of-other2"])
    try:
        commands.run(["ip", "link", "set", "lk-of-other", "up"])
        commands.run(["ip", "route", "add", "10.200.0.0/20", "dev", "lk-of-other"])
        cluster = clusters.up(home, clusters.Request(NAME, nodes=1), Progress())
        assert cluster.spec.block != "10.200.0.0/16"
        written = json.loads(cluster.paths.spec.read_text())
        cluster.paths.spec.write_text(json.dumps({**written, "invented": "later"}))
        assert clusters.down(home, NAME, Progress())
        assert "lk-of-other" in commands.run(["ip", "route", "show", "10.200.0.0/20"])
    finally:
        commands.run(["ip", "link", "delete", "lk-of-other"])
    _assert_clean(home, before)


def test_two_ups_at_once_make_one_cluster(home: Home) -> None:
    both = [_localkube(home, "up", "--name", NAME, "--nodes", "1") for _ in range(2)]
    said = [process.communicate(timeout=300)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert clusters.find(home, NAME).healthy()
    assert spec.load(home.cluster(NAME).spec) is not None
