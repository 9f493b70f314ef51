"""Pure: a node's certificates, command lines and settings. Paths are those inside the node."""

import json
from typing import Any

from localkube.controlplane import DOMAIN, ONE_THREAD
from localkube.init.control import Program
from localkube.init.root import BINARIES, CNI_BINARIES
from localkube.pki import Subject
from localkube.spec import ClusterSpec, NodeSpec

SETTINGS = "/etc/localkube"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "localhost/localkube-pause:1"
COMPONENTS = ("containerd", "kubelet", "kube-proxy")


def subjects(node: NodeSpec) -> list[Subject]:
    return [
        Subject(
            f"kubelet-{node.name}",
            f"system:node:{node.name}",
            ("system:nodes",),
            serves=(node.name, node.address),
        ),
        Subject("kube-proxy", "system:kube-proxy"),
    ]


def programs(node: NodeSpec) -> list[Program]:
    search = f"{BINARIES}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    kubelet = [
        f"{BINARIES}/kubelet",
        f"--config={SETTINGS}/kubelet.json",
        f"--kubeconfig={SETTINGS}/kubelet.kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
    ]
    commands = {
        "containerd": (["/usr/bin/env", "containerd", f"--config={SETTINGS}/containerd.toml"], None),
        "kubelet": (kubelet, CONTAINERD_SOCKET),
        "kube-proxy": ([f"{BINARIES}/kube-proxy", f"--config={SETTINGS}/kube-proxy.json"], None),
    }
    return [
        Program(
            name=name,
            argv=commands[name][0],
            environment={"PATH": search, "HOME": "/root", **ONE_THREAD},
            log=f"/var/log/localkube/{name}.log",
            wait_for=commands[name][1],
        )
        for name in COMPONENTS
    ]


def files(cluster: ClusterSpec, node: NodeSpec) -> dict[str, str]:
    """Everything below /etc/localkube but the secrets."""
    return {
        "containerd.toml": _containerd(),
        "kubelet.json": json.dumps(_kubelet(cluster), indent=2),
        "kube-proxy.json": json.dumps(_kube_proxy(cluster, node), indent=2),
        "cni/10-localkube.conflist": json.dumps(_cni(node), indent=2),
    }


def _containerd() -> str:
    """`restrict_oom_score_adj`: inside a container or a sandboxed machine, root may not lower its own score."""
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_BINARIES}"
    conf_dir = "{SETTINGS}/cni"
"""


def _kubelet(cluster: ClusterSpec) -> dict[str, Any]:
    gates = dict(word.split("=", 1) for word in cluster.feature_gates.split(",") if word)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": f"{SETTINGS}/ca.crt"},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{SETTINGS}/kubelet.crt",
        "tlsPrivateKeyFile": f"{SETTINGS}/kubelet.key",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "readOnlyPort": 0,
        "clusterDNS": [cluster.dns_service],
        "clusterDomain": DOMAIN,
        "nodeLeaseDurationSeconds": 20,
        "evictionHard": {"nodefs.available": "5%", "imagefs.available": "5%", "memory.available": "100Mi"},
        "evictionPressureTransitionPeriod": "1s",
        "imageMinimumGCAge": "87600h",  # no registry has our images: one that is removed for want of space is lost
        "volumePluginDir": "/var/lib/kubelet/volumeplugins",  # the usual place is in /usr, which a node cannot write to
        "serializeImagePulls": False,
        "featureGates": {name: value == "true" for name, value in gates.items()},
    }


def _kube_proxy(cluster: ClusterSpec, node: NodeSpec) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": f"{SETTINGS}/kube-proxy.kubeconfig"},
        "mode": "nftables",
        "clusterCIDR": cluster.pods,
        "nftables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
        "hostnameOverride": node.name,
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _cni(node: NodeSpec) -> dict[str, Any]:
    """Point to point, not a bridge: every packet is routed, so that a Service's answer comes back the way it went."""
    ipam = {
        "type": "host-local",
        "dataDir": "/run/cni",  # addresses are given back by a restart of the node, as its pods are
        "ranges": [[{"subnet": node.pod_range}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "1.0.0",
        "name": "localkube",
        "plugins": [
            {"type": "ptp", "ipMasq": False, "ipam": ipam},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
