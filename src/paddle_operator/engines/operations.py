"""What a runtime server is ordered to do, and what becomes of it: the records of its HTTP interface."""

import re
from enum import StrEnum

import msgspec

from paddle_operator.api.juicefs import SyncOptions
from paddle_operator.api.meta import Record, Timestamp
from paddle_operator.api.samplejob import SamplerOptions, WarmupStrategy

# Ids become names of files; they start with a letter or a digit, so that none is hidden or a directory's own.
ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,126}", re.ASCII)
# More than these missing files are counted, not named. Of a longer name, in bytes, the beginning is told: a report that
# has many operations in it must not be too long to be read.
MOST_NAMED = 100
LONGEST_NAME = 256


class OperationState(StrEnum):
    """Where an operation stands; the last three are for good."""

    QUEUED = "Queued"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def is_final(self) -> bool:
        return self not in {OperationState.QUEUED, OperationState.RUNNING}


class Credentials(Record, frozen=True, forbid_unknown_fields=True):
    """The keys of a source: never written to disk, never in an answer, never printed."""

    access_key: str = ""
    secret_key: str = ""

    def __repr__(self) -> str:
        return "Credentials(…)"


class Share(Record, frozen=True, forbid_unknown_fields=True):
    """The part of the files that one partition takes, so that all partitions together take each file once."""

    partition: int
    partitions: int
    strategy: WarmupStrategy = WarmupStrategy.SEQUENCE
    sampler: SamplerOptions | None = None


class SyncOrder(SyncOptions, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="sync"):
    """Copy the source, which must be given, into the data set."""

    credentials: Credentials | None = None


class WarmupOrder(Record, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="warmup"):
    """Bring files into the cache: those below the paths (all without any), or those that a file of the set lists."""

    paths: tuple[str, ...] = ()
    file: str | None = None
    threads: int | None = None
    share: Share | None = None


class RmrOrder(Record, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="rmr"):
    """Remove files and directories of the data set."""

    paths: tuple[str, ...]


class ClearOrder(Record, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="clear"):
    """Empty cache directories; all of them without any path. `forget`: also what is remembered of their blocks."""

    paths: tuple[str, ...] = ()
    forget: bool = False


Order = SyncOrder | WarmupOrder | RmrOrder | ClearOrder


class Progress(Record, frozen=True, omit_defaults=False):
    """How far an operation is; a total of 0 is not known yet."""

    files: int = 0
    total_files: int = 0
    bytes: int = 0
    total_bytes: int = 0


class Result(Record, frozen=True):
    """What an operation did, in numbers; those that do not concern it are 0."""

    files: int = 0
    bytes: int = 0
    skipped: int = 0
    failed: int = 0
    deleted: int = 0
    expected_blocks: int = 0
    present_blocks: int = 0
    missing_files: int = 0
    missing: tuple[str, ...] = ()
    # Of the missing, those whose bytes are not those that were first read.
    damaged_files: int = 0
    damaged: tuple[str, ...] = ()
    # Of a share by numbers: all files that were numbered, so that those who dealt from others can be found.
    dealt_from: str = ""


class Operation(Record, frozen=True, omit_defaults=False):
    """An order, and what became of it."""

    id: str
    type: str
    state: OperationState = OperationState.QUEUED
    progress: Progress = Progress()
    message: str = ""
    # The server was started anew and has no keys any more: it waits until the same order is given again.
    needs_credentials: bool = False
    order_time: Timestamp | None = None
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    result: Result | None = None


def type_of(order: Order) -> str:
    """Give the word that says what to do, as SampleJobs have it."""
    return str(order.__struct_config__.tag)


def without_credentials(order: Order) -> Order:
    """Give what may be written down, and what tells two orders apart: keys may change in between."""
    return msgspec.structs.replace(order, credentials=None) if isinstance(order, SyncOrder) else order


def is_id(text: str) -> bool:
    return ID.fullmatch(text) is not None and ".." not in text
