"""Process 1 of a cluster: a network with no way off this machine, then the control plane and the nodes in it."""

import sys
from pathlib import Path

from localkube import errors, paths, spec
from localkube.init import network, supervisor

BRIDGE = "lan"


def set_up_network(cluster: spec.ClusterSpec, host: int) -> None:
    """Nodes meet on a bridge; what no node owns is unreachable; this machine gets one link onto the bridge."""
    network.bring_up("lo")
    network.set_sysctls({
        "ipv4/ip_forward": "1",
        "ipv4/conf/all/send_redirects": "0",
        "ipv4/conf/default/send_redirects": "0",
    })  # fmt: skip
    network.ip("link", "add", BRIDGE, "type", "bridge")
    network.ip("address", "add", f"{cluster.gateway}/{spec.LAN_PREFIX}", "dev", BRIDGE)
    network.bring_up(BRIDGE)
    network.ip("route", "add", "unreachable", "default")
    network.join(
        host,
        cluster.link,
        "host",
        outer_setup=[
            ["address", "add", f"{cluster.host}/{spec.LAN_PREFIX}", "dev", cluster.link],
            ["link", "set", cluster.link, "up"],
            ["route", "replace", cluster.pods, "via", cluster.gateway, "proto", network.ROUTE_PROTOCOL],
            network.claiming(cluster.block, cluster.ident),
        ],
    )
    network.ip("link", "set", "host", "master", BRIDGE, "up")


def main() -> None:
    """Arguments: the cluster's directory, the descriptor of the machine's own network namespace."""
    root = Path(sys.argv[1])
    cluster = spec.load(root / "cluster.json")
    if cluster is None:
        raise errors.LocalkubeError(f"{root} holds no cluster")
    set_up_network(cluster, int(sys.argv[2]))
    supervisor.Supervisor(supervisor.listen(paths.ClusterPaths(cluster.name, root).socket)).run()


if __name__ == "__main__":
    main()
