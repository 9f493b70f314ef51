"""Process 1 of a node: its own disk, devices and network, then containerd, the kubelet and kube-proxy."""

import socket
import sys
from pathlib import Path

from localkube import errors, paths, spec
from localkube.init import cluster as cluster_init
from localkube.init import network, root, supervisor


def set_up_network(cluster: spec.ClusterSpec, node: spec.NodeSpec, outside: int) -> None:
    outer = node.name
    network.join(
        outside,
        outer,
        "eth0",
        outer_setup=[
            ["link", "set", outer, "master", cluster_init.BRIDGE, "up"],
            ["route", "replace", node.pod_range, "via", node.address],
        ],
    )
    network.set_sysctls({"ipv4/ip_forward": "1", "ipv4/conf/all/accept_redirects": "0"})
    network.ip("address", "add", f"{node.address}/{spec.LAN_PREFIX}", "dev", "eth0")
    network.bring_up("lo", "eth0")
    network.ip("route", "add", "default", "via", cluster.gateway)


def main() -> None:
    """Arguments: the cluster's directory, the node's name, the CNI plugins, the cluster's network namespace."""
    directory, name, cni, outside = sys.argv[1:]
    cluster = spec.load(Path(directory) / "cluster.json")
    if cluster is None:
        raise errors.LocalkubeError(f"{directory} holds no cluster")
    around = paths.ClusterPaths(cluster.name, Path(directory))
    place = around.node(name)
    listener = supervisor.listen(place.socket)
    socket.sethostname(name)
    set_up_network(cluster, cluster.node(name), int(outside))
    shown = {root.BINARIES: Path(cluster.binaries), root.CNI_BINARIES: Path(cni), root.LAYERS: around.layers}
    root.enter(place, name, shown)
    supervisor.Supervisor(listener).run()


if __name__ == "__main__":
    main()
