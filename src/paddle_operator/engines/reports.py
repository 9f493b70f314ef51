"""What a runtime server reports: how much data there is, how much of it is cached, what it works on."""

from paddle_operator.api.meta import Record
from paddle_operator.engines.operations import Operation


class Data(Record, frozen=True, omit_defaults=False):
    """The whole data set, the same on every partition."""

    bytes: int = 0
    files: int = 0


class Cache(Record, frozen=True, omit_defaults=False):
    """The cache of one partition: what it holds, and its hits and misses since it was mounted."""

    used: int = 0
    blocks: int = 0
    hits: int = 0
    misses: int = 0
    # Of the file systems that the cache directories are on, each counted once.
    capacity: int = 0
    free: int = 0
    # Of the directories together: another one as soon as one of them was lost.
    identity: str = ""


class Report(Record, frozen=True, omit_defaults=False):
    """How a partition stands. Without a mount, `data` and the cache's contents are not known and 0."""

    engine: str = ""
    version: str = ""
    mounted: bool = False
    message: str = ""
    data: Data = Data()
    cache: Cache = Cache()
    operations: tuple[Operation, ...] = ()
