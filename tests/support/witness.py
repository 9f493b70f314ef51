"""Looks at a SampleSet's status all the time, and compares what it claims with what is true."""

import collections
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
# Who reads changes a cache all the time: a figure is true that it had a moment ago.
LATELY = 10.0
OTHER_SIZE = f"has not had so many bytes in its cache for {LATELY:.0f} s"
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


class Memory:
    """How much there was in each node's cache lately."""

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, Sizes]] = collections.deque()

    def note(self, held: Sizes) -> None:
        now = time.monotonic()
        self._seen.append((now, held))
        while self._seen[0][0] < now - LATELY:
            self._seen.popleft()

    def had(self, node: str, size: int) -> bool:
        """Tell whether a cache may have had this size: it was looked at only now and then."""
        sizes = [sum(blocks) for _, held in self._seen if (blocks := held[node]) is not None]
        return bool(sizes) and min(sizes) <= size <= max(sizes)


def untruths(status: Manifest, held: Sizes, shares: Sequence[list[int]], memory: Memory) -> set[str]:
    """Say what a status claims that is not so."""
    found = set()
    memory.note(held)
    for node in status.get("nodes", ()):
        blocks, number = held[node["node"]], int(node["partition"])
        if status.get("phase") == "Ready" and not has_all(blocks, shares[number]):
            found.add(f"Ready, and partition {number} lacks files of its share")
        if blocks is None and node.get("ready"):
            found.add(f"the server of partition {number} is ready, and its node is off")
        if blocks is not None and node.get("ready") and not memory.had(node["node"], node.get("cachedBytes", 0)):
            found.add(f"partition {number} {OTHER_SIZE}")
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
