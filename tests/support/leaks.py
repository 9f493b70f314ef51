"""Where secrets could be told: command lines, logs, answers, and all that the API server stores."""

import base64
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from localkube.cluster import Cluster
from localkube.errors import CommandFailedError
from support import csinode

PAUSE, LOOKS = 0.01, 30
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
    """Those of all processes of the machine, also of nodes and containers, for as long as it is entered."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        """Look at what has begun, again and again while it is young: it may become another program, and end soon."""
        self.seen |= {" ".join(words) for _, words in csinode.command_lines()}
        newest, young = newest_process(), dict[int, int]()
        while not self._ended.wait(PAUSE):
            before, newest = newest, newest_process()
            young |= dict.fromkeys(range(before + 1, newest + 1), LOOKS)
            self.seen |= {" ".join(words) for words in map(csinode.command_line, young) if words}
            young = {process: left - 1 for process, left in young.items() if left > 1}


def newest_process() -> int:
    return int(Path("/proc/loadavg").read_text().split()[-1])


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
