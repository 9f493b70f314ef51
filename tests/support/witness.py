"""Looks at a SampleSet's status all the time, and compares what it claims with what is true."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Manifest
from support import imagenet

PAUSE = 0.7
Sizes = Mapping[str, list[int] | None]


def caches(cluster: Cluster, volume: str) -> Sizes:
    """Give the sizes of the blocks in each node's cache; nothing for a node that is off."""
    found: dict[str, list[int] | None] = {}
    for node in cluster.nodes:
        try:
            found[node.name] = imagenet.cached_sizes(node, volume)
        except LocalkubeError:
            found[node.name] = [] if node.control.alive() else None
    return found


def untruths(status: Manifest, held: Sizes, shares: Sequence[list[int]]) -> set[str]:
    """Say what a status claims that is not so."""
    found = set()
    for node in status.get("nodes", ()):
        blocks, number = held[node["node"]], int(node["partition"])
        if status.get("phase") == "Ready" and not has_all(blocks, shares[number]):
            found.add(f"Ready, and partition {number} lacks files of its share")
        if blocks is None and node.get("ready"):
            found.add(f"the server of partition {number} is ready, and its node is off")
        if blocks is not None and node.get("ready") and node.get("cachedBytes", 0) != sum(blocks):
            found.add(f"partition {number} has not so many bytes in its cache")
    return found


def has_all(blocks: list[int] | None, share: list[int]) -> bool:
    left = list(blocks or ())
    for size in share:
        if size not in left:
            return False
        left.remove(size)
    return True


class Witness:
    """Whatever is not so for a moment is news on its way; `longest` has for how many seconds it was claimed.

    Counted from the last disturbance: who was killed then may be the one to tell, or the one to hear.
    """

    def __init__(self, look: Callable[[], set[str]]) -> None:
        self.longest: dict[str, float] = {}
        self.looks = 0
        self._look = look
        self._since: dict[str, float] = {}
        self._disturbed = float("-inf")
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

    def disturb(self) -> None:
        self._disturbed = time.monotonic()

    def _watch(self) -> None:
        while not self._ended.wait(PAUSE):
            try:
                claimed = self._look()
            except LocalkubeError:
                continue
            now = time.monotonic()
            self._since = {words: self._since.get(words, now) for words in claimed}
            for words, since in self._since.items():
                self.longest[words] = max(self.longest.get(words, 0.0), now - max(since, self._disturbed))
            self.looks += 1
