"""The pods' way out: a process in the machine's own network, which makes the connections that lead out of theirs."""

import contextlib
import errno
import ipaddress
import os
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from paddle_operator.embedded.node import seccomp
from paddle_operator.embedded.node.addresses import ADDRESSES
from paddle_operator.embedded.node.seccomp import Connection

NAME_SERVERS = Path("/etc/resolv.conf")
NAMES_PORT = 53
LONGEST_ADDRESS = 128
STARTS_WITHIN = 10.0
PAUSE = 0.01
FAMILIES = (socket.AF_INET, socket.AF_INET6)
COPIED = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 4),
    (socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16),
    (socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 4),
)
CLOSE_ON_EXEC = 0o2000000


def start(place: Path) -> None:
    """Start it while this process is still in the machine's network."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(place)], stdin=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + STARTS_WITHIN
    while not place.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(errno.ECONNREFUSED, "the pods' way out does not start", str(place))
        time.sleep(PAUSE)


def dialled(place: Path) -> socket.socket | None:
    """Reach it before connections are judged; none where the kernel's calls are not known, and pods stay inside."""
    if not seccomp.is_known():
        return None
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(str(place))
    return line


def hand_over(line: socket.socket) -> None:
    """Have all connections of this process and its children judged there from now on."""
    with line:
        listener = seccomp.ask_about_connections()
        socket.send_fds(line, [b"."], [listener])
        os.close(listener)


def leads_out(host: str, port: int, name_servers: frozenset[str]) -> bool:
    """Tell whether an address is of the world outside: not a pod's, not the pod's own."""
    found = ipaddress.ip_address(host)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if port == NAMES_PORT and str(found) in name_servers:
        return True
    local = found.is_loopback or found.is_unspecified or found.is_link_local or found.is_multicast
    return not local and found not in ADDRESSES


def destination(address: bytes) -> tuple[str, int] | None:
    """Read an address as the kernel has it; nothing for what is no place in a network."""
    (family,) = struct.unpack_from("=H", address)
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, address[4:8]), int.from_bytes(address[2:4], "big")
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, address[8:24]), int.from_bytes(address[2:4], "big")
    return None


class Gate:
    """Judges connections: one that leads out gets a socket of the machine's network in the place of its own."""

    def __init__(self, name_servers: frozenset[str]) -> None:
        self._name_servers = name_servers

    def judge(self, listener: int) -> None:
        connection = seccomp.received(listener)
        with contextlib.suppress(OSError, ValueError, struct.error):  # what we cannot read goes on as it is
            place = destination(_memory(connection))
            if place is not None and leads_out(*place, self._name_servers):
                self._let_out(listener, connection)
        seccomp.go_on(listener, connection)

    def _let_out(self, listener: int, connection: Connection) -> None:
        process = _process_of(connection.thread)
        with (
            socket.socket(fileno=seccomp.borrowed(process, connection.descriptor)) as theirs,
            socket.socket(theirs.family, theirs.type, theirs.proto) as ours,
        ):
            for level, option, size in COPIED:
                with contextlib.suppress(OSError):
                    ours.setsockopt(level, option, theirs.getsockopt(level, option, size))
            os.set_blocking(ours.fileno(), os.get_blocking(theirs.fileno()))
            seccomp.replace(listener, connection, ours.fileno(), close_on_exec=_closes_on_exec(connection))


def _memory(connection: Connection) -> bytes:
    with Path(f"/proc/{connection.thread}/mem").open("rb", buffering=0) as memory:
        memory.seek(connection.address)
        return memory.read(min(connection.length, LONGEST_ADDRESS))


def _process_of(thread: int) -> int:
    lines = Path(f"/proc/{thread}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Tgid:"))


def _closes_on_exec(connection: Connection) -> bool:
    lines = Path(f"/proc/{connection.thread}/fdinfo/{connection.descriptor}").read_text().splitlines()
    return any(int(line.split()[1], 8) & CLOSE_ON_EXEC for line in lines if line.startswith("flags:"))


def name_servers(text: str) -> frozenset[str]:
    rows = (line.split() for line in text.splitlines())
    return frozenset(words[1] for words in rows if len(words) > 1 and words[0] == "nameserver")


def serve(place: Path) -> None:
    """Take in containers, and judge for them until they are gone."""
    gate = Gate(name_servers(NAME_SERVERS.read_text() if NAME_SERVERS.exists() else ""))
    waiting = select.epoll()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(place))
        door.listen(128)
        waiting.register(door, select.EPOLLIN)
        while True:
            for descriptor, event in waiting.poll():
                if descriptor == door.fileno():
                    for listener in _taken_in(door):
                        waiting.register(listener, select.EPOLLIN)
                elif event & select.EPOLLIN:
                    with contextlib.suppress(OSError):  # who asked is gone
                        gate.judge(descriptor)
                else:
                    waiting.unregister(descriptor)
                    os.close(descriptor)


def _taken_in(door: socket.socket) -> list[int]:
    line, _ = door.accept()
    with line:
        line.settimeout(1.0)
        try:
            return list(socket.recv_fds(line, 1, 1)[1])
        except OSError:
            return []


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
