"""Which connections lead out of the pods' network."""

import socket
import struct

import pytest

from paddle_operator.embedded.node.outside import destination, leads_out, name_servers

NAMES = frozenset({"127.0.0.53"})


@pytest.mark.parametrize(
    ("host", "port", "out"),
    [
        pytest.param("93.184.216.34", 443, True, id="the world"),
        pytest.param("192.168.1.7", 6379, True, id="a neighbour of the machine"),
        pytest.param("198.18.0.7", 36000, False, id="another pod"),
        pytest.param("127.0.0.1", 80, False, id="the pod itself"),
        pytest.param("0.0.0.0", 80, False, id="the pod itself, another way"),  # noqa: S104
        pytest.param("127.0.0.53", 53, True, id="the machine's own name server"),
        pytest.param("127.0.0.53", 80, False, id="the same, and not for names"),
        pytest.param("2001:db8::1", 443, True, id="the newer world"),
        pytest.param("::1", 443, False, id="the pod itself, by the newer address"),
        pytest.param("::ffff:198.18.0.7", 443, False, id="another pod, written as the newer address"),
        pytest.param("fe80::1", 443, False, id="the same wire"),
    ],
)
def test_what_is_no_pod_is_outside(host: str, port: int, *, out: bool) -> None:
    assert leads_out(host, port, NAMES) is out


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        pytest.param(
            struct.pack("=H", socket.AF_INET) + struct.pack(">H", 80) + socket.inet_aton("10.1.2.3") + bytes(8),
            ("10.1.2.3", 80),
            id="IPv4",
        ),
        pytest.param(
            struct.pack("=H", socket.AF_INET6)
            + struct.pack(">H", 443)
            + bytes(4)
            + socket.inet_pton(socket.AF_INET6, "2001:db8::1")
            + bytes(4),
            ("2001:db8::1", 443),
            id="IPv6",
        ),
        pytest.param(struct.pack("=H", socket.AF_UNIX) + b"/run/x", None, id="a file"),
    ],
)
def test_the_kernels_addresses_are_read(address: bytes, wanted: tuple[str, int] | None) -> None:
    assert destination(address) == wanted


def test_name_servers_are_those_of_the_machine() -> None:
    assert name_servers("# mine\nnameserver 127.0.0.53\nnameserver\nsearch x\nnameserver ::1\n") == {
        "127.0.0.53",
        "::1",
    }
