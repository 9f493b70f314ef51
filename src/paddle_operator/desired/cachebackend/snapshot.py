"""What was observed of a CacheBackend and around it, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from paddle_operator.api.cachebackend import CacheBackend, CacheBackendStatus, CacheOptions, CacheUser
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend.engine import Engine, Piece


class Sight(StrEnum):
    """Why objects of a kind are not seen."""

    ABSENT = "Absent"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True)
class Snapshot:
    """`parts` are the cache's own; `claim` is the one of its name, whoever made it. `unseen`: kinds, and why not.

    `users` are the jobs that use the cache or wait for it, `holders` those whose pods read from it. Without an engine
    there is none that the registry knows.
    """

    cache: CacheBackend
    now: datetime
    engine: Engine | None
    engine_name: str = ""
    parts: Mapping[Piece, Manifest] = field(default_factory=dict)
    claim: Manifest | None = None
    unseen: Mapping[Piece, Sight] = field(default_factory=dict)
    users: tuple[CacheUser, ...] = ()
    holders: tuple[str, ...] = ()

    @property
    def before(self) -> CacheBackendStatus:
        """Give the status as it was last written."""
        return self.cache.status or CacheBackendStatus()

    @property
    def options(self) -> CacheOptions:
        return self.cache.spec.options or CacheOptions()
