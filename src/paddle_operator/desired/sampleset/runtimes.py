"""The runtime servers of a set as they are seen: their pods, and what they say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.observedpod import ObservedPod, observed_pod, why_not_running

# A pod that its node has had for so long has more than an image to wait for; how often it is asked for what.
STUCK_AFTER = timedelta(seconds=15)
STUCK_PAUSE = 30.0


class Standing(StrEnum):
    """Where an operation stands, in a server's words."""

    QUEUED = "Queued"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def is_over(self) -> bool:
        return self not in (Standing.QUEUED, Standing.RUNNING)


@dataclass(frozen=True)
class Work:
    """An operation of a server. `lacks_keys`: it waits until the same order comes again, with the keys.

    `missing_files` are those that a warm-up could not bring into the cache, although it tried all. `dealt_from`: which
    files it saw when it took a share of them.
    """

    type: str
    standing: Standing
    message: str = ""
    lacks_keys: bool = False
    ordered: datetime | None = None
    began: datetime | None = None
    ended: datetime | None = None
    files: int = 0
    total_files: int = 0
    bytes: int = 0
    total_bytes: int = 0
    expected_blocks: int = 0
    present_blocks: int = 0
    missing_files: int = 0
    missing: tuple[str, ...] = ()
    damaged_files: int = 0
    dealt_from: str = ""


@dataclass(frozen=True)
class Word:
    """What a server last said; `works` by id. `cache`: which one it has, another after it was lost.

    `refused` are orders that it did not take, by id, and why.
    """

    mounted: bool = True
    data_bytes: int = 0
    data_files: int = 0
    cached_bytes: int = 0
    capacity_bytes: int = 0
    free_bytes: int = 0
    hits: int = 0
    misses: int = 0
    cache: str = ""
    works: Mapping[str, Work] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Runtime:
    """A server. `word`: nothing if it has not been heard yet; `trouble`: why, or why no longer, as far as is known.

    `hindrance` is what its node says of why it cannot be started.
    """

    partition: int
    pod: ObservedPod
    ready: bool
    word: Word | None = None
    trouble: str = ""
    hindrance: str = ""

    @property
    def name(self) -> str:
        return self.pod.name

    @property
    def node(self) -> str:
        return self.pod.node

    @property
    def serves(self) -> bool:
        """Tell whether it does its work: a dead node's pods are ready until somebody notices."""
        return self.ready and not self.trouble

    @property
    def listens(self) -> bool:
        """Tell whether it takes orders now."""
        return self.ready and self.word is not None and self.word.mounted

    @property
    def why_not(self) -> str:
        return why_not_running(self.pod) or self.hindrance

    @property
    def starts_since(self) -> datetime | None:
        """Give the time since which its node starts it, as long as its pod does not say what is in the way."""
        status = self.pod.manifest.get("status") or {}
        began = status.get("startTime") if status.get("phase") == "Pending" and not why_not_running(self.pod) else None
        return None if began is None else msgspec.convert(began, datetime)

    def asked_again(self, now: datetime) -> datetime | None:
        """Give the time at which its node is asked for what is in the way."""
        if self.starts_since is None:
            return None
        first = self.starts_since + STUCK_AFTER
        return first if first > now else now + timedelta(seconds=STUCK_PAUSE)


def runtime(pod: Manifest, partition: int, word: Word | None = None, trouble: str = "") -> Runtime:
    observed = observed_pod(pod)
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(found.get("type") == "Ready" and found.get("status") == "True" for found in conditions)
    return Runtime(partition, observed, ready and not observed.stopping, word, trouble)


def partition_of(pod: str, runtime_name: str) -> int | None:
    """Give the number at the end of a pod's name."""
    number = pod.removeprefix(f"{runtime_name}-")
    return int(number) if number != pod and number.isascii() and number.isdecimal() and len(number) <= 5 else None  # noqa: PLR2004  # digits of the most partitions
