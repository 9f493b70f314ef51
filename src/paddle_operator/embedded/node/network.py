"""The pods' network: each has an address of its own behind one bridge, and nothing of it outlives the run."""

import itertools
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from paddle_operator.embedded.node import kernel
from paddle_operator.embedded.node.addresses import ADDRESSES
from paddle_operator.embedded.node.kernel import Share

BRIDGE = "pods"
PATIENCE = 10.0


class NetworkError(Exception):
    """The kernel or `ip` refuses what a network takes."""


@dataclass(frozen=True)
class Place:
    """A pod's place in the network: its address, and a descriptor that keeps its namespace."""

    address: str
    descriptor: int

    def close(self) -> None:
        os.close(self.descriptor)


@dataclass
class Network:
    """Made in the network namespace that this process is in from then on."""

    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(2))

    @property
    def gateway(self) -> str:
        return str(ADDRESSES[1])

    def begin(self) -> None:
        """Leave the machine's network for one of our own."""
        kernel.unshare(Share.NETWORK)
        _ip(
            "link set lo up",
            f"link add {BRIDGE} type bridge",
            f"address add {self.gateway}/{ADDRESSES.prefixlen} dev {BRIDGE}",
            f"link set {BRIDGE} up",
        )

    def join(self) -> Place:
        """Give a pod its place; addresses are not used twice, so that nobody finds another than it looked for."""
        number = next(self._numbers)
        address = str(ADDRESSES[number % ADDRESSES.num_addresses])
        made: list[int] = []
        failed: list[OSError | NetworkError] = []

        def make() -> None:
            try:
                kernel.unshare(Share.NETWORK)
                made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
                _ip(
                    f"link add eth0 type veth peer name pod{number} netns {os.getpid()}",
                    "link set lo up",
                    f"address add {address}/{ADDRESSES.prefixlen} dev eth0",
                    "link set eth0 up",
                )
            except (OSError, NetworkError) as error:
                failed.append(error)

        thread = threading.Thread(target=make, name="network")  # a namespace belongs to a thread
        thread.start()
        thread.join()
        if failed:
            raise NetworkError(f"a pod cannot have a network: {failed[0]}") from failed[0]
        _ip(f"link set pod{number} master {BRIDGE}", f"link set pod{number} up")
        return Place(address, made[0])


def _ip(*commands: str) -> None:
    """Do all of it, or say what was refused."""
    try:
        done = subprocess.run(
            ["ip", "-batch", "-"],
            input="\n".join(commands),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise NetworkError("there is no program ip: install iproute2") from None
    if done.returncode:
        raise NetworkError(f"ip refuses: {done.stderr.strip()}")
