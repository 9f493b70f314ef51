"""The CSI node plugin, installed from the printed manifests, for volumes as the official driver takes them."""

import itertools
import os
import secrets
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from localkube.cluster import Cluster
from localkube.init.control import Program
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import csinode, juicefs
from support.csivolumes import Volume, installed, registered, uninstall

PASSWORD = "planted-secret-password"  # noqa: S105 the one that is looked for
DAEMONS = "daemonset/paddle-csi-node"
MANY = 60
DATABASES = itertools.count(1)  # a database of metadata holds one volume


@pytest.fixture(scope="module")
def plugin(kube: Cluster, operator_image: str) -> Iterator[Kubectl]:
    kubectl = installed(kube, operator_image)
    kubectl.rolled_out(DAEMONS)
    yield kubectl
    uninstall(kube, operator_image)


@pytest.fixture(scope="module")
def redis(kube: Cluster) -> Iterator[str]:
    """Give the address of a Redis with a password: this machine's program, on a node."""
    juicefs.require()
    node = kube.node("node-1")
    settings = f'bind 0.0.0.0\nprotected-mode no\nrequirepass {PASSWORD}\nsave ""\ndir /run\n'
    node.control.run_inside(["tee", "/run/redis.conf"], stdin=settings)
    argv = ["/usr/bin/env", "redis-server", "/run/redis.conf"]
    node.control.start(Program("redis", argv, {"PATH": "/usr/bin:/bin"}, "/var/log/localkube/redis.log"))
    yield node.spec.address
    node.control.stop("redis")


@pytest.fixture
def volume(kube: Cluster, plugin: Kubectl, redis: str, namespace: Kubectl) -> Iterator[Volume]:
    """Have a new volume and its claim; the pods that use it go before it, and the kubelet unmounts it after them."""
    del plugin
    made = Volume(namespace, f"vol-{secrets.token_hex(4)}", next(DATABASES))
    namespace.apply(*made.objects(redis, PASSWORD))
    namespace.wait("jsonpath={.status.phase}=Bound", f"pvc/{made.name}")
    yield made
    namespace.run("delete", "pods", "--all", "--wait", "--grace-period=0")
    for node in kube.nodes:
        wait_until(partial(made.is_gone_from, node), MANY, f"the volume is left on {node.name}")
    namespace.run("delete", f"pvc/{made.name}", f"pv/{made.name}", "--wait")


def test_pods_share_a_volume_across_nodes_and_the_last_of_a_node_leaves_nothing(kube: Cluster, volume: Volume) -> None:
    first, second = kube.node("node-1"), kube.node("node-2")
    volume.start(*(volume.pod(name, node) for name, node in (("a1", "node-1"), ("a2", "node-1"), ("b1", "node-2"))))
    volume.write("a1", "hello", "from a1")
    assert volume.sees("a2", "hello", "from a1")
    wait_until(lambda: volume.sees("b1", "hello", "from a1"), MANY, "the other node does not see the file")
    assert [len(volume.clients(node)) for node in (first, second)] == [1, 1]
    volume.kubectl.run("delete", "pod", "a1", "a2", "b1", "--wait")
    for node in (first, second):
        wait_until(partial(volume.is_gone_from, node), MANY, f"a client or a mount is left on {node.name}")


def test_mounts_outlive_the_plugin_and_a_client_that_dies_is_brought_back(
    kube: Cluster, plugin: Kubectl, volume: Volume
) -> None:
    node = kube.node("node-2")
    volume.start(volume.pod("writer", "node-2"), volume.pod("reader", "node-2", read_only=True))
    volume.write("writer", "hello", "there")
    before = volume.clients(node)
    plugin.run("delete", "pods", "--all", "--wait")
    plugin.rolled_out(DAEMONS)
    assert volume.sees("reader", "hello", "there")
    assert volume.clients(node) == before
    os.kill(before[0], signal.SIGKILL)
    for pod in ("writer", "reader"):
        wait_until(partial(volume.sees, pod, "hello", "there"), MANY, f"{pod} is not mended")
    assert volume.refuses("reader")
    volume.write("writer", "hello", "again")
    assert volume.sees("reader", "hello", "again")


def test_a_wrong_password_is_told_in_the_pods_events_and_no_secret_is(
    plugin: Kubectl, volume: Volume, redis: str
) -> None:
    volume.kubectl.apply(*volume.objects(redis, "guessed-secret-password"))
    volume.kubectl.apply(volume.pod("unlucky", "node-3"))

    def told() -> list[str]:
        messages = [event.get("message", "") for event in volume.kubectl.items("events")]
        return [message for message in messages if "refuses the user or the password: correct metaurl" in message]

    wait_until(lambda: bool(told()), MANY, "no event tells of the password")
    words = " ".join([*told(), plugin.run("logs", "-l", "app.kubernetes.io/name=paddle-csi-node", "--tail=-1")])
    assert not any(secret in words for secret in (PASSWORD, "guessed-secret-password"))
    lines = [" ".join(argv) for _, argv in csinode.command_lines()]
    assert [line for line in lines if "secret-password" in line] == []


def test_a_plugin_that_is_taken_away_leaves_no_process_and_is_forgotten(
    kube: Cluster, plugin: Kubectl, operator_image: str
) -> None:
    uninstall(kube, operator_image)
    wait_until(lambda: not registered(plugin), MANY, "the kubelets still know the driver")
    wait_until(lambda: not plugin.items("pods"), MANY, "pods of the plugin are left")
    for node in kube.nodes:
        left = node.control.run_inside(["sh", "-c", "find /run/juicefs-csi 2>/dev/null || true"]).split()
        assert (node.name, left) == (node.name, [])
        assert "juicefs" not in node.control.run_inside(["cat", "/proc/1/mounts"])
        places = ["/run", "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/sys/fs/cgroup"]
        assert node.control.run_inside(["find", *places, "-maxdepth", "2", "-name", "*juicefs*"]) == ""
