"""What was observed of a CacheBackend and around it, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from paddle_operator.api.cachebackend import CacheBackend, CacheBackendStatus, CacheOptions, CacheUser
from paddle_operator.api.manifest import Manifest, owners_of
from paddle_operator.desired.cachebackend.engine import Engine, Parts, Piece

KIND = CacheBackend.definition.kind


def is_ending(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


class Sight(StrEnum):
    """Why objects of a kind are not seen."""

    ABSENT = "Absent"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True)
class Snapshot:
    """`found` and `claim` are of the cache's name, whoever made them. `unseen`: kinds, and why not.

    `users` are the jobs that use the cache or wait for it, `holders` those whose pods read from it. Without an engine
    there is none that the registry knows.
    """

    cache: CacheBackend
    now: datetime
    engine: Engine | None
    engine_name: str = ""
    found: Mapping[Piece, Manifest] = field(default_factory=dict)
    claim: Manifest | None = None
    unseen: Mapping[Piece, Sight] = field(default_factory=dict)
    users: tuple[CacheUser, ...] = ()
    holders: tuple[str, ...] = ()

    @property
    def parts(self) -> Parts:
        """Give the cache's own."""
        own = self.cache.metadata.uid
        return {piece: manifest for piece, manifest in self.found.items() if own in owners_of(manifest)}

    @property
    def leaving(self) -> tuple[Piece, ...]:
        """Give what is about to go: what is being deleted, and what an earlier cache of the name has left."""
        return tuple(piece for piece, found in self.found.items() if is_ending(found) or self._is_left(found))

    def _is_left(self, manifest: Manifest) -> bool:
        own = self.cache.metadata
        owners = manifest["metadata"].get("ownerReferences") or []
        namesakes = [owner["uid"] for owner in owners if (owner["kind"], owner["name"]) == (KIND, own.name)]
        return bool(namesakes) and own.uid not in namesakes

    @property
    def before(self) -> CacheBackendStatus:
        """Give the status as it was last written."""
        return self.cache.status or CacheBackendStatus()

    @property
    def options(self) -> CacheOptions:
        return self.cache.spec.options or CacheOptions()
