"""A cluster's network meets nobody else's."""

import ipaddress

import pytest

from localkube import addresses, errors, spec


def _networks(*words: str) -> list[ipaddress.IPv4Network]:
    return [ipaddress.IPv4Network(word) for word in words]


def test_the_first_candidate_is_taken_where_nothing_is_in_the_way() -> None:
    assert addresses.free_block(_networks("192.168.0.0/24", "127.0.0.0/8")) == "10.200.0.0/16"


@pytest.mark.parametrize("taken", ["10.200.7.0/24", "10.200.0.0/16", "10.200.255.255/32"])
def test_a_candidate_that_meets_a_route_is_passed_over(taken: str) -> None:
    assert addresses.free_block(_networks(taken)) == "10.201.0.0/16"


def test_a_machine_that_routes_all_private_addresses_is_told_so() -> None:
    with pytest.raises(errors.LocalkubeError, match="no network is free"):
        addresses.free_block(_networks("10.0.0.0/8"))


@pytest.mark.parametrize("taken", [["0.0.0.0/0"], ["0.0.0.0/1", "128.0.0.0/1"]])
def test_a_default_route_is_in_nobodys_way_nor_its_two_halves(taken: list[str]) -> None:
    assert addresses.free_block(_networks(*taken)) == "10.200.0.0/16"


def test_this_machines_own_networks_are_seen() -> None:
    assert ipaddress.IPv4Network("127.0.0.0/8") in addresses.networks_in_use()


def test_nodes_pods_and_services_of_a_block_do_not_overlap() -> None:
    nodes = spec.nodes_of("10.201.0.0/16", spec.NODE_LIMIT)
    ranges = _networks("10.201.0.0/24", "10.201.128.0/17", *(node.pod_range for node in nodes))
    assert not any(one.overlaps(other) for one in ranges for other in ranges if one is not other)
    assert all(network.subnet_of(ipaddress.IPv4Network("10.201.0.0/16")) for network in ranges)
    assert len({node.address for node in nodes}) == spec.NODE_LIMIT


@pytest.mark.parametrize("count", [0, -1, 33])
def test_a_number_of_nodes_that_cannot_be_is_refused(count: int) -> None:
    with pytest.raises(errors.LocalkubeError, match="1 to 32 nodes"):
        spec.nodes_of("10.201.0.0/16", count)
