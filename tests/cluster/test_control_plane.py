"""The control plane: who may do what, and that nothing is lost when parts of it die."""

import http.client
import json
import ssl
import stat

import pytest

from localkube import errors, faults
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import workloads


def test_the_api_server_killed_comes_back_with_nothing_lost(kube: Cluster, namespace: Kubectl) -> None:
    namespace.run("create", "configmap", "kept", "--from-literal=key=value")
    namespace.apply(workloads.sleeping_pod("steady"))
    namespace.wait("condition=Ready", "pod/steady")
    before = namespace.get("configmap/kept")
    restarts = kube.control.status()["kube-apiserver"].restarts
    faults.component(kube, "kube-apiserver").kill()
    wait_until(lambda: kube.control.status()["kube-apiserver"].restarts == restarts + 1, 90, "it stays dead")
    wait_until(kube.api.ready, 60, "the API server does not come back")
    assert namespace.get("configmap/kept") == before
    assert namespace.get("pod/steady")["status"]["containerStatuses"][0]["restartCount"] == 0
    kube.wait_ready()
    namespace.apply(workloads.sleeping_pod("afterwards"))
    namespace.wait("condition=Ready", "pod/afterwards")


def test_etcd_killed_comes_back_with_nothing_lost(kube: Cluster, namespace: Kubectl) -> None:
    for number in range(20):
        namespace.run("create", "configmap", f"kept-{number}", f"--from-literal=number={number}")
    faults.component(kube, "etcd").kill()
    wait_until(
        lambda: len(namespace.items("configmaps", "--field-selector=metadata.name!=kube-root-ca.crt")) == 20, 60, "lost"
    )
    wait_until(kube.healthy, 90, "the cluster does not recover")


def test_a_stopped_component_stays_stopped_until_it_is_started(kube: Cluster, namespace: Kubectl) -> None:
    scheduler = faults.component(kube, "kube-scheduler")
    scheduler.stop()
    try:
        assert not kube.healthy()
        namespace.apply(workloads.sleeping_pod("waiting"))
        with pytest.raises(errors.CommandFailedError):
            namespace.wait("condition=PodScheduled", "pod/waiting", timeout=2)
    finally:
        scheduler.start()
    namespace.wait("condition=Ready", "pod/waiting")


def test_an_unknown_component_is_refused_with_the_known_names(kube: Cluster) -> None:
    with pytest.raises(
        errors.LocalkubeError, match="there is no component kube-apiservr; there are etcd, kube-apiserver"
    ):
        faults.component(kube, "kube-apiservr")
    with pytest.raises(errors.LocalkubeError, match="has no node node-9; it has node-1, node-2, node-3"):
        faults.component(kube, "node-9/kubelet")


def test_secrets_are_readable_by_their_owner_only(kube: Cluster) -> None:
    secrets = [kube.paths.kubeconfig, *kube.paths.pki.glob("*.key"), *kube.paths.root.glob("**/*.kubeconfig")]
    assert len(secrets) > 10
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets} == {0o600}


def test_a_kubelet_may_not_touch_another_node(kube: Cluster, namespace: Kubectl) -> None:
    own = kube.node("node-1").paths.settings / "kubelet.kubeconfig"
    as_kubelet = Kubectl(namespace.program, own, namespace.namespace)
    as_kubelet.run("label", "node", "node-1", "example.org/mine=yes", "--overwrite")
    with pytest.raises(errors.CommandFailedError, match="only its own Node object"):
        as_kubelet.run("label", "node", "node-2", "example.org/mine=yes", "--overwrite")
    with pytest.raises(errors.CommandFailedError, match="is not allowed to modify labels"):
        as_kubelet.run("label", "node", "node-1", "node-restriction.kubernetes.io/zone=safe")
    with pytest.raises(errors.CommandFailedError, match=r"(?i)forbidden"):
        as_kubelet.run("get", "secrets", "--all-namespaces")
    as_kubelet.run("label", "node", "node-1", "example.org/mine-")


def test_nobody_comes_in_without_a_name(kube: Cluster) -> None:
    context = ssl.create_default_context(cafile=str(kube.paths.pki / "ca.crt"))
    connection = http.client.HTTPSConnection(kube.spec.gateway, 6443, timeout=10, context=context)
    connection.request("GET", "/version")
    assert connection.getresponse().status == http.HTTPStatus.UNAUTHORIZED
    connection.close()


@pytest.mark.parametrize(
    "words",
    [
        "nodes", "node/node-1", "no node-2", "crd", "pv", "pvc", "csinodes", "leases -A",
        "sa/default", "configmaps,serviceaccounts,secrets", "cm kube-root-ca.crt", "events -A",
        "configmaps --field-selector=metadata.name!=kube-root-ca.crt", "pods -A -l k8s-app=kube-dns",
        "deployments.apps -A", "pdj", "samplesets", "sampleset.batch.paddlepaddle.org", "priorityclasses",
    ],
)  # fmt: skip
def test_what_is_read_without_kubectl_is_what_it_reads(namespace: Kubectl, words: str) -> None:
    wait_until(lambda: bool(namespace.items("serviceaccounts")), 60, "no account")

    def are_equal() -> bool:
        told = json.loads(namespace.run("get", *words.split(), "--output=json"))
        told.pop("metadata" if told["kind"] == "List" else "nothing", None)
        return bool(namespace.get(*words.split()) == told)

    # Meanwhile nodes and leases may be renewed.
    wait_until(are_equal, 20, "they differ")


def test_what_is_not_there_is_missed_in_kubectls_words(namespace: Kubectl) -> None:
    for words in ("pod/nobody", "unheard"):
        with pytest.raises(errors.CommandFailedError) as told:
            namespace.run("get", words)
        with pytest.raises(errors.LocalkubeError) as read:
            namespace.get(words)
        assert str(read.value) in told.value.output
