"""The network between pods, Services and nodes: what reaches whom, how fast, and what never leaves."""

import functools
import urllib.request
from collections.abc import Iterator

import pytest

from localkube import errors
from localkube.cluster import Cluster
from localkube.faults import Link
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import workloads

FETCH = ("python3", "/opt/testbox/fetch.py")
RESOLVE = ("python3", "/opt/testbox/resolve.py")
HELD_LOWEST = 40


@pytest.fixture
def link(kube: Cluster) -> Iterator[Link]:
    """The cable of node-2, whole again afterwards."""
    cable = Link(kube, kube.node("node-2"))
    yield cable
    cable.restore()
    kube.wait_ready()


def _pair(namespace: Kubectl, server_node: str, client_node: str) -> None:
    namespace.apply(
        workloads.server_pod("web", server_node),
        workloads.sleeping_pod("client", client_node),
        workloads.service("web", "web"),
    )
    namespace.wait("condition=Ready", "pod/web", "pod/client")
    _answers(namespace, "client", "http://web/", "web")


def _answers(namespace: Kubectl, client: str, url: str, expected: str) -> None:
    """A Service is there when every proxy has heard of it, soon after its pods are."""
    wait_until(lambda: namespace.execute(client, *FETCH, url).strip() == expected, 90, f"{url} is not {expected}")


def _resolves(namespace: Kubectl, client: str, name: str, address: str) -> None:
    """Names follow a moment after the pods are ready."""
    wait_until(lambda: namespace.execute(client, *RESOLVE, name).strip() == address, 90, f"{name} is not {address}")


@pytest.mark.parametrize("client", ["node-1", "node-2"], ids=["from the same node", "from another node"])
def test_a_service_is_reached_by_name(namespace: Kubectl, client: str) -> None:
    _pair(namespace, "node-1", client)
    for name in ("web", f"web.{namespace.namespace}", f"web.{namespace.namespace}.svc.cluster.local"):
        assert namespace.execute("client", *FETCH, f"http://{name}/").strip() == "web"


def test_a_headless_service_names_each_pod(namespace: Kubectl) -> None:
    spec = workloads.server_pod("web")["spec"]
    namespace.apply(
        workloads.replicated("StatefulSet", "web", 2, spec, serviceName="web"),
        workloads.service("web", "web", clusterIP="None"),
        workloads.sleeping_pod("client", "node-3"),
    )
    namespace.wait("jsonpath={.status.readyReplicas}=2", "statefulset/web")
    namespace.wait("condition=Ready", "pod/client")
    for number in (0, 1):
        address = namespace.get(f"pod/web-{number}")["status"]["podIP"]
        _resolves(namespace, "client", f"web-{number}.web", address)


def test_a_pod_reaches_itself_through_its_own_service(namespace: Kubectl) -> None:
    namespace.apply(workloads.server_pod("web"), workloads.service("mirror", "web"))
    namespace.wait("condition=Ready", "pod/web")
    _answers(namespace, "web", "http://mirror/", "web")


def test_a_node_port_answers_on_every_node_from_this_machine(kube: Cluster, namespace: Kubectl) -> None:
    namespace.apply(workloads.server_pod("web", "node-1"), workloads.service("web", "web", type="NodePort"))
    namespace.wait("condition=Ready", "pod/web")
    port = namespace.get("service/web")["spec"]["ports"][0]["nodePort"]
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def answers(address: str) -> bool:
        try:
            with direct.open(f"http://{address}:{port}/", timeout=5) as body:
                return bool(body.read() == b"web\n")
        except OSError:
            return False

    for node in kube.spec.nodes:
        wait_until(functools.partial(answers, node.address), 90, f"{node.name} does not answer")


def test_a_name_outside_the_cluster_does_not_exist(namespace: Kubectl) -> None:
    namespace.apply(workloads.sleeping_pod("client"))
    namespace.wait("condition=Ready", "pod/client")
    with pytest.raises(errors.CommandFailedError, match="not found"):
        namespace.execute("client", *RESOLVE, "no-such-host.example.org")


def test_nothing_leaves_the_cluster(kube: Cluster, namespace: Kubectl) -> None:
    """TEST-NET-3 belongs to nobody: the answer must come from our own router, at once."""
    namespace.apply(workloads.sleeping_pod("client"))
    namespace.wait("condition=Ready", "pod/client")
    with pytest.raises(errors.CommandFailedError, match=r"unreachable|No route"):
        namespace.execute("client", *FETCH, "http://203.0.113.1/", timeout=10)
    assert kube.control.run_inside(["ip", "route", "show", "default"]).startswith("unreachable default")


def test_each_node_object_carries_its_pod_range(kube: Cluster, namespace: Kubectl) -> None:
    ranges = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in namespace.items("nodes")}
    assert ranges == {node.name: node.pod_range for node in kube.spec.nodes}


def _megabits(namespace: Kubectl, size: int) -> float:
    return float(namespace.execute("client", *FETCH, "--measure", f"http://web/bytes/{size}"))


def _fastest_held(namespace: Kubectl) -> float:
    """The best of five goes: a busy machine slows any one of them, and only the link could hold all of them."""
    fastest = 0.0
    for _ in range(5):
        fastest = max(fastest, _megabits(namespace, 30_000_000))
        if fastest >= HELD_LOWEST:
            break
    return fastest


@pytest.mark.parametrize(("server", "client"), [("node-1", "node-2"), ("node-2", "node-1")], ids=["download", "upload"])
def test_a_link_held_to_50_megabits_gives_40_to_50(link: Link, namespace: Kubectl, server: str, client: str) -> None:
    _pair(namespace, server, client)
    before = _megabits(namespace, 100_000_000)
    link.limit("50mbit")
    assert HELD_LOWEST <= _fastest_held(namespace) <= 50
    assert link.describe() == "50mbit"
    link.restore()
    assert link.describe() == "full speed"
    assert before > 100
    assert _megabits(namespace, 100_000_000) > 100


def test_a_cut_link_lets_nothing_through_until_it_is_restored(link: Link, namespace: Kubectl) -> None:
    _pair(namespace, "node-1", "node-3")
    namespace.apply(workloads.server_pod("far", "node-2"), workloads.service("far", "far"))
    namespace.wait("condition=Ready", "pod/far")
    _answers(namespace, "client", "http://far/", "far")
    address = namespace.get("pod/far")["status"]["podIP"]
    link.cut()
    assert link.describe() == "cut"
    with pytest.raises(errors.CommandFailedError):
        namespace.execute("client", *FETCH, "--timeout", "2", f"http://{address}:8080/")
    assert namespace.execute("client", *FETCH, "http://web/").strip() == "web"
    link.restore()
    _answers(namespace, "client", f"http://{address}:8080/", "far")


@pytest.mark.parametrize("rate", ["fast", "50", "50mb", "-1mbit", "1bit", "50mbit; reboot"])
def test_a_rate_that_is_none_is_refused_in_words(kube: Cluster, rate: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="is not a rate"):
        Link(kube, kube.node("node-1")).limit(rate)
