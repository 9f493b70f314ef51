"""Command lines and settings of the components: pure, so they are compared whole where it matters."""

import dataclasses
import json

from localkube import addons, api, controlplane, nodeplane, spec
from localkube.paths import ClusterPaths


def test_the_api_server_is_as_strict_as_a_real_one(cluster: spec.ClusterSpec, paths: ClusterPaths) -> None:
    programs = {program.name: program for program in controlplane.programs(cluster, paths)}
    argv = programs["kube-apiserver"].argv
    assert argv[0] == "/cache/bin/kube-apiserver"
    assert {
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
    } <= set(argv)
    assert "--service-cluster-ip-range=10.201.128.0/17" in argv


def test_components_start_in_the_order_in_which_they_need_each_other(
    cluster: spec.ClusterSpec, paths: ClusterPaths
) -> None:
    assert [program.name for program in controlplane.programs(cluster, paths)] == list(controlplane.COMPONENTS)
    assert [program.name for program in nodeplane.programs(cluster.nodes[0])] == list(nodeplane.COMPONENTS)


def test_feature_gates_reach_every_component_and_the_kubelet(cluster: spec.ClusterSpec, paths: ClusterPaths) -> None:
    gated = dataclasses.replace(cluster, feature_gates="GangScheduling=true,Other=false", runtime_config="g/v1=true")
    programs = {program.name: program.argv for program in controlplane.programs(gated, paths)}
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        assert "--feature-gates=GangScheduling=true,Other=false" in programs[name]
    assert "--runtime-config=g/v1=true" in programs["kube-apiserver"]
    assert not any("--runtime-config" in word for word in programs["kube-scheduler"])
    kubelet = json.loads(nodeplane.files(gated, gated.nodes[0])["kubelet.json"])
    assert kubelet["featureGates"] == {"GangScheduling": True, "Other": False}


def test_no_gates_means_no_flag(cluster: spec.ClusterSpec, paths: ClusterPaths) -> None:
    words = [word for program in controlplane.programs(cluster, paths) for word in program.argv]
    assert not any(word.startswith(("--feature-gates", "--runtime-config")) for word in words)


def test_each_node_hands_out_its_own_addresses(cluster: spec.ClusterSpec) -> None:
    for node in cluster.nodes:
        network = json.loads(nodeplane.files(cluster, node)["cni/10-localkube.conflist"])
        assert network["plugins"][0]["ipam"]["ranges"] == [[{"subnet": node.pod_range}]]
        assert network["plugins"][0]["ipMasq"] is False


def test_the_kubelet_lets_in_whom_the_api_server_knows_and_nobody_else(cluster: spec.ClusterSpec) -> None:
    kubelet = json.loads(nodeplane.files(cluster, cluster.nodes[0])["kubelet.json"])
    assert kubelet["authorization"] == {"mode": "Webhook"}
    assert kubelet["authentication"]["anonymous"] == {"enabled": False}
    assert kubelet["readOnlyPort"] == 0


def test_nobody_waits_long_for_what_is_seldom_looked_at(cluster: spec.ClusterSpec, paths: ClusterPaths) -> None:
    programs = {program.name: program.argv for program in controlplane.programs(cluster, paths)}
    assert "--pvclaimbinder-sync-period=2s" in programs["kube-controller-manager"]
    kubelet = json.loads(nodeplane.files(cluster, cluster.nodes[0])["kubelet.json"])
    assert kubelet["evictionPressureTransitionPeriod"] == "1s"


def test_dns_forwards_nothing(cluster: spec.ClusterSpec, paths: ClusterPaths) -> None:
    text = controlplane.corefile(cluster, paths)
    assert not any(line.split()[:1] == ["forward"] for line in text.splitlines())
    assert "rcode NXDOMAIN" in text
    assert "bind 10.201.0.1" in text


def test_every_first_object_has_a_path_to_apply_it_at(cluster: spec.ClusterSpec) -> None:
    paths = [api.path_of(manifest) for manifest in addons.manifests(cluster)]
    assert "/api/v1/nodes/node-1" in paths
    assert "/api/v1/namespaces/kube-system/services/kube-dns" in paths
    assert "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns" in paths
    assert len(set(paths)) == len(paths)


def test_a_node_is_ready_only_when_it_says_so() -> None:
    def node(*conditions: tuple[str, str]) -> api.Manifest:
        return {"status": {"conditions": [{"type": kind, "status": status} for kind, status in conditions]}}

    assert api.is_ready(node(("MemoryPressure", "False"), ("Ready", "True")))
    assert not api.is_ready(node(("Ready", "Unknown")))
    assert not api.is_ready(node(("MemoryPressure", "True")))
    assert not api.is_ready({})
    assert api.is_ready({**node(("Ready", "True")), "spec": {"taints": [{"key": "example.org/reserved"}]}})
    assert not api.is_ready({**node(("Ready", "True")), "spec": {"taints": [{"key": "node.kubernetes.io/not-ready"}]}})
