"""What an engine, which stores and caches the data, says of a SampleSet's objects."""

from typing import Protocol

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import SampleSet


class Engine(Protocol):
    @property
    def required_keys(self) -> tuple[str, ...]:
        """Name what the Secret of a volume must have."""

    @property
    def metadata_key(self) -> str:
        """Name what has the address of the volume's metadata in that Secret."""

    def problem(self, sample_set: SampleSet) -> str:
        """Say why the options cannot work; nothing if they can."""

    def volume(self, sample_set: SampleSet) -> Manifest: ...

    def claim(self, sample_set: SampleSet) -> Manifest: ...

    def data(self, sample_set: SampleSet) -> tuple[Manifest, Manifest]:
        """Give the volume of a pod that sees the data, and the mount of its container."""

    def cache_directories(self, sample_set: SampleSet) -> tuple[str, ...]:
        """Name the directories of a node that the data is cached in: of this set alone, whatever is beside them."""

    def spool_directory(self, sample_set: SampleSet) -> str:
        """Name the directory of a node in which a server notes its operations; it lives and dies with the cache."""
