"""What an engine, which caches the data, says of a CacheBackend: its objects, and how far they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest


class Piece(StrEnum):
    """A kind of object that an engine needs for a cache; each has the cache's name."""

    DATASET = "Dataset"
    ALLUXIO_RUNTIME = "AlluxioRuntime"
    JUICEFS_RUNTIME = "JuiceFSRuntime"
    DATA_LOAD = "DataLoad"
    SAMPLE_SET = "SampleSet"


Pieces = tuple[tuple[Piece, Manifest], ...]
Parts = Mapping[Piece, Manifest]


class Stage(StrEnum):
    """How far an engine is."""

    WORKING = "Working"
    READY = "Ready"
    FAILED = "Failed"


@dataclass(frozen=True)
class Progress:
    """`message` is in the engine's own words, and figures are as it tells them. `node_label` is of nodes that cache."""

    stage: Stage
    message: str
    total_bytes: int | None = None
    cached_bytes: int | None = None
    node_label: str = ""


class Engine(Protocol):
    """`parts` are the cache's own objects, as they were seen; `missing` names what to install where a kind is not."""

    @property
    def missing(self) -> str:
        """Say what to do where the cluster does not know the engine's kinds."""

    def problem(self, cache: CacheBackend) -> str:
        """Say why it cannot work; nothing if it can."""

    def objects(self, cache: CacheBackend) -> Pieces:
        """Give all objects that the cache is made of, in the order in which they are made."""

    def owns(self, cache: CacheBackend, claim: Manifest, parts: Parts) -> bool:
        """Tell whether the claim, which has the cache's name, was made by the engine for this very cache."""

    def progress(self, cache: CacheBackend, parts: Parts) -> Progress: ...
