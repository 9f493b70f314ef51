"""Chooses a /16 for a cluster that meets neither this machine's own networks nor another cluster's."""

import ipaddress
import json
from collections.abc import Collection, Iterable

from localkube import commands, errors

Network = ipaddress.IPv4Network
# High in 10/8, where home routers, clouds and VPNs are seldom; each is tried in turn.
CANDIDATES = tuple(ipaddress.IPv4Network(f"10.{second}.0.0/16") for second in range(200, 250))


def networks_in_use() -> list[Network]:
    """Read this machine's addresses and routes, the default route aside."""
    links = json.loads(commands.run(["ip", "-json", "-4", "address"]))
    rows = [address for link in links for address in link.get("addr_info", ())]
    routes = json.loads(commands.run(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
    written = [
        *(f"{row['local']}/{row['prefixlen']}" for row in rows),
        *(route["dst"] for route in routes if route["dst"] != "default"),
    ]
    return [ipaddress.IPv4Network(word, strict=False) for word in written]


def is_free(block: Network, taken: Iterable[Network]) -> bool:
    # A VPN that wants everything writes two halves of the world, to be nearer than the default route.
    return not any(block.overlaps(network) for network in taken if network.prefixlen > 1)


def free_block(taken: Collection[Network]) -> str:
    for candidate in CANDIDATES:
        if is_free(candidate, taken):
            return str(candidate)
    raise errors.LocalkubeError(
        f"no network is free for a cluster: this machine's routes and other clusters meet all from {CANDIDATES[0]} "
        f"to {CANDIDATES[-1]}"
    )
