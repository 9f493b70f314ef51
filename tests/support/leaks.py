"""Where secrets could be told: command lines, logs, answers, and all that the API server stores."""

import base64
import contextlib
import json
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from localkube.cluster import Cluster
from localkube.errors import CommandFailedError
from support import csinode

PAUSE = 0.2
# The kernel's connector: a request to be told of processes, and what it tells, behind its headers: of what kind it is,
# and after a number, a time and the thread the process.
NETLINK_CONNECTOR, OF_PROCESSES, SO_RCVBUFFORCE = 11, 1, 33
LISTEN = struct.pack("=IHHIIIIIIHHI", 40, 3, 0, 0, 0, OF_PROCESSES, 1, 0, 0, 4, 0, 1)
EVENT = struct.Struct("=36xI16xI")
PROGRAM_BEGAN = 2
LARGEST, ROOM = 4096, 16 << 20
NOT_FOUND = 1
EVERYTHING = json.dumps({"key": "AA==", "range_end": "AA=="})
# Only python3 is sure to be there; etcd listens inside of the cluster's own network.
ASK_ETCD = """
import sys, urllib.request
request = urllib.request.Request('http://127.0.0.1:2379/v3/kv/range', sys.stdin.buffer.read())
sys.stdout.buffer.write(urllib.request.urlopen(request).read())
"""


def spellings(secret: str) -> list[str]:
    """Give it as it is, and as it is in a Secret's data, with and without a line end."""
    return [secret, *(base64.b64encode(f"{secret}{end}".encode()).decode() for end in ("", "\n"))]


def tells(text: str, secrets: Iterable[str]) -> bool:
    return any(word in text for secret in secrets for word in spellings(secret))


class CommandLines:
    """Those of all processes of the machine, also of nodes and containers, for as long as it is entered.

    The kernel tells of each program that begins: to look for them again and again missed short ones on a busy machine.
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._told = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
        self._told.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self._told.settimeout(PAUSE)
        self._told.bind((0, OF_PROCESSES))
        self._told.send(LISTEN)
        self.seen |= {" ".join(words) for _, words in csinode.command_lines()}
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._told.close()

    def _watch(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                what, process = EVENT.unpack_from(self._told.recv(LARGEST))
                if what == PROGRAM_BEGAN and (words := csinode.command_line(process)):
                    self.seen.add(" ".join(words))


def logs_with(cluster: Cluster, secrets: Iterable[str]) -> list[str]:
    """Name the log files, of all components and of all containers, that have one of these in them."""
    words = [f"--regexp={word}" for secret in secrets for word in spellings(secret)]
    search = ["grep", "--recursive", "--files-with-matches", "--fixed-strings", *words]
    places = [(node.control, "/var/log") for node in cluster.nodes] + [(cluster.control, str(cluster.paths.logs))]
    found: list[str] = []
    for control, place in places:
        try:
            found += control.run_inside([*search, place]).splitlines()
        except CommandFailedError as error:
            if error.code != NOT_FOUND:
                raise
    return found


def stored(cluster: Cluster) -> dict[str, str]:
    """Give every value in etcd by its key."""
    told = json.loads(cluster.control.run_inside(["python3", "-c", ASK_ETCD], stdin=EVERYTHING))
    return {decoded(pair["key"]): decoded(pair["value"]) for pair in told["kvs"]}


def decoded(text: str) -> str:
    return base64.b64decode(text).decode(errors="replace")


def answer(url: str, token: str = "") -> tuple[int, str]:
    """Ask a server, with a token or without."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310 a URL of the test's own
    try:
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 as above
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
