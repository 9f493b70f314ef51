"""Pure: the objects a new cluster needs before anyone uses it."""

from typing import Any

from localkube.spec import ClusterSpec

Manifest = dict[str, Any]
DNS_PORTS = (("dns", "UDP"), ("dns-tcp", "TCP"))


def manifests(cluster: ClusterSpec) -> list[Manifest]:
    return [*_nodes(cluster), *_kubelet_access(), *_dns_access(), *_dns(cluster)]


def _nodes(cluster: ClusterSpec) -> list[Manifest]:
    """Made before their kubelets come, to give each the pod range that its CNI plugin hands out."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node.name},
            "spec": {"podCIDR": node.pod_range, "podCIDRs": [node.pod_range]},
        }
        for node in cluster.nodes
    ]


def _binding(name: str, role: str, user: str) -> Manifest:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def _kubelet_access() -> list[Manifest]:
    return [_binding("localkube:apiserver-to-kubelet", "system:kubelet-api-admin", "apiserver-kubelet-client")]


def _dns_access() -> list[Manifest]:
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:coredns"},
        "rules": rules,
    }
    return [role, _binding("system:coredns", "system:coredns", "system:coredns")]


def _dns(cluster: ClusterSpec) -> list[Manifest]:
    """CoreDNS runs beside the control plane, so its Service has no pods to select: the slice is ours."""
    labels = {"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system", "labels": labels},
        "spec": {
            "clusterIP": cluster.dns_service,
            "ports": [{"name": name, "port": 53, "protocol": protocol} for name, protocol in DNS_PORTS],
        },
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {
                "kubernetes.io/service-name": "kube-dns",
                "endpointslice.kubernetes.io/managed-by": "localkube",
            },
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [cluster.gateway], "conditions": {"ready": True}}],
        "ports": [{"name": name, "port": 53, "protocol": protocol} for name, protocol in DNS_PORTS],
    }
    return [service, endpoints]
