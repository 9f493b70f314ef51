"""Links between network namespaces: of a name, and of no other."""

import subprocess
import sys

JOIN = """
from localkube.init import network
network.join(9, "node-1", "eth0", outer_setup=[["link", "set", "node-1", "up"]])
print(network.ip("-brief", "link", namespace=9))
"""
CLAIM = """
from localkube import addresses
from localkube.init import network
network.bring_up("lo")
network.claim(addresses.free_block(addresses.networks_in_use()), "0123abcd")
print(addresses.free_block(addresses.networks_in_use()))
"""
# Descriptor 9 is the outer namespace, which has the links that the words before make.
INSIDE_ANOTHER = 'eval "$1"; exec 9</proc/self/ns/net; exec unshare --net "$2" -c "$3"'
NEIGHBOUR = "ip link add node-10 type veth peer name other"
PREDECESSOR = "ip link add node-1 type veth peer name old"


def links_after_joining(before: str) -> set[str]:
    argv = ["unshare", "--net", "sh", "-c", INSIDE_ANOTHER, "sh", before, sys.executable, JOIN]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return {line.split()[0].partition("@")[0] for line in done.stdout.splitlines() if line}


def test_addresses_are_taken_before_there_is_a_link() -> None:
    """Of all homes: a cluster that another home begins at the same moment chooses others."""
    argv = ["unshare", "--net", sys.executable, "-c", CLAIM]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "10.201.0.0/16\n"


def test_a_link_replaces_the_one_that_a_predecessor_left() -> None:
    assert links_after_joining(PREDECESSOR) == {"lo", "node-1"}


def test_a_link_whose_name_begins_as_ours_is_somebody_elses() -> None:
    assert links_after_joining(NEIGHBOUR) == {"lo", "node-10", "other", "node-1"}
