"""SampleSet: a data set cached near the workers, in partitions, one per node."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.definition import Column, Definition, Kind
from paddle_operator.api.fields import Rule, doc, unchanged
from paddle_operator.api.formats import CacheDirectories, DataPath, SourceUri, service_name
from paddle_operator.api.juicefs import JuiceFSMountOptions
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition, Record
from paddle_operator.api.references import PartialSecretReference, SecretReference

# A StatefulSet named "SET-runtime" puts its name and a hash of 10 characters into a label, which has at most 63.
LONGEST_NAME = 44
# The status has a line for each of them, and so has that of a job which works on them all: more would not fit.
MOST_PARTITIONS = 1000


class CSIDriver(StrEnum):
    """What mounts the data."""

    JUICEFS = "juicefs"


class MediumType(StrEnum):
    """What a cache lies on."""

    MEM = "MEM"
    SSD = "SSD"
    HDD = "HDD"


class SampleSetPhase(StrEnum):
    """Where a SampleSet stands."""

    NONE = ""
    BOUND = "Bound"
    MOUNT = "Mount"
    SYNCING = "Syncing"
    SYNC_FAILED = "SyncFailed"
    PARTIAL_READY = "PartialReady"
    READY = "Ready"


class Source(Record, frozen=True):
    """Remote data to copy into the data set."""

    uri: Annotated[
        SourceUri,
        doc(
            "Where it is: SCHEME://BUCKET[.ENDPOINT][/PREFIX] as JuiceFS writes it, local:///DIRECTORY of the nodes"
            " that cache, or pvc://CLAIM[/DIRECTORY].",
            minLength=10,
        ),
    ]
    secret_ref: Annotated[
        PartialSecretReference | None,
        doc("The Secret with its access-key and secret-key; spec.secretRef if left out."),
    ] = None


class NamedSource(Source, frozen=True):
    """Remote data to copy into a directory of the data set."""

    path: Annotated[DataPath | None, doc("The directory of the data set to copy it into; its root if left out.")] = None


class CSI(Record, frozen=True):
    """What mounts the data, and how."""

    driver: Annotated[CSIDriver, doc("The driver.", default="juicefs")] = msgspec.field(
        default_factory=lambda: CSIDriver.JUICEFS
    )
    juicefs_mount_options: Annotated[JuiceFSMountOptions | None, doc("Options of `juicefs mount`.")] = msgspec.field(
        name="juiceFSMountOptions", default=None
    )


class CacheLevel(Record, frozen=True):
    """Directories of a node in which data is cached."""

    medium_type: Annotated[MediumType, doc("What the directories lie on.")]
    path: Annotated[CacheDirectories, doc("The directories on the node, joined by ':'.", minLength=1)]
    cache_size: Annotated[int | None, doc("How much they may hold together, in MiB.", minimum=0)] = None


class Cache(Record, frozen=True):
    """Where nodes keep what they cached."""

    levels: Annotated[
        tuple[CacheLevel, ...],
        doc(
            "Directories to cache in. JuiceFS uses all of them alike and gives each the same room: as much as fits into"
            " the smallest.",
            minItems=1,
            maxItems=16,
        ),
    ] = ()


class SampleSetSpec(Record, frozen=True):
    """The data set that is wanted."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("!has(self.source) || !has(self.sources)", "give either source or sources, not both"),
        Rule(
            "has(self.source) || has(self.sources) || (has(self.noSync) && self.noSync)",
            "say where the data comes from in source, or set noSync: true if it is in the volume already",
        ),
    )

    partitions: Annotated[
        int,
        doc(
            "How many nodes cache the data, each a part of it; the status of more would not fit into an object.",
            minimum=1,
            maximum=MOST_PARTITIONS,
        ),
    ]
    secret_ref: Annotated[
        SecretReference,
        doc("The Secret of the JuiceFS volume: name, storage, bucket, metaurl, and access-key, secret-key if needed."),
    ]
    source: Annotated[Source | None, doc("The remote data to copy into the data set at first.")] = None
    sources: Annotated[
        tuple[NamedSource, ...],
        doc("Several places of remote data, each copied into a directory of its own.", minItems=1, maxItems=32),
    ] = ()
    no_sync: Annotated[bool | None, doc("Do not copy the source at first.")] = None
    csi: Annotated[CSI | None, doc("What mounts the data; JuiceFS if left out.")] = None
    cache: Annotated[Cache | None, doc("Where nodes keep what they cached; in memory if left out.")] = None
    node_affinity: Annotated[Manifest | None, doc("The nodes that may cache, as a pod's nodeAffinity.")] = None
    tolerations: Annotated[tuple[Manifest, ...], doc("Taints of nodes that may cache all the same, as a pod's.")] = ()


class CacheStatus(Record, frozen=True):
    """How much data there is and how much of it is cached: for people, and in bytes for programs."""

    total_size: Annotated[str, doc("The size of the data, such as 4.2 GiB.")] = ""
    total_files: Annotated[str, doc("The number of files, such as 128,660.")] = ""
    cached_size: Annotated[str, doc("How much of it is cached on the nodes.")] = ""
    disk_size: Annotated[str, doc("The size of the disks that hold the caches.")] = ""
    disk_used: Annotated[str, doc("How much of those disks is used.")] = ""
    disk_avail: Annotated[str, doc("How much of those disks is free.")] = ""
    disk_usage_rate: Annotated[str, doc("How much of those disks is used, in per cent.")] = ""
    error_massage: Annotated[str, doc("What went wrong in finding this out.")] = ""
    total_bytes: Annotated[int | None, doc("totalSize in bytes.")] = None
    file_count: Annotated[int | None, doc("totalFiles as a number.")] = None
    cached_bytes: Annotated[int | None, doc("cachedSize in bytes.")] = None
    disk_size_bytes: Annotated[int | None, doc("diskSize in bytes.")] = None
    disk_used_bytes: Annotated[int | None, doc("diskUsed in bytes.")] = None
    disk_avail_bytes: Annotated[int | None, doc("diskAvail in bytes.")] = None


class RuntimeStatus(Record, frozen=True):
    """How many of the servers next to the data are ready."""

    runtime_ready: Annotated[str, doc("Ready servers of all, such as 1/2; one that does not answer is not ready.")] = ""
    spec_replicas: Annotated[int, doc("Servers that are wanted.")] = 0
    ready_replicas: Annotated[int, doc("Servers that are ready.")] = 0


class JobsName(Record, frozen=True):
    """The work that the operator gave to the servers by itself."""

    sync_job_name: Annotated[str, doc("The id of the first copy of the source.")] = ""
    warmup_job_name: Annotated[str, doc("The id of the first warm-up.")] = ""


class NodeStatus(Record, frozen=True):
    """A node that caches a partition, and what its server last said."""

    partition: Annotated[int, doc("The partition's number, from 0 on.")]
    node: Annotated[str, doc("The node's name.")] = ""
    pod: Annotated[str, doc("The pod of the server.")] = ""
    ready: Annotated[bool, doc("Whether the server is ready, and answers.")] = False
    warmed_for: Annotated[
        int, doc("For how many partitions its share was last brought into its cache; another number needs another.")
    ] = 0
    missing_files: Annotated[
        int, doc("Files of its share that could not be: its cache has no room, or they are missing in the store.")
    ] = 0
    cached_bytes: Annotated[int, doc("Bytes in its cache.")] = 0
    capacity_bytes: Annotated[int, doc("Bytes that its cache's disks hold.")] = 0
    free_bytes: Annotated[int, doc("Bytes that are free on its cache's disks.")] = 0
    hits: Annotated[int, doc("Blocks that were read from its cache, since it was mounted.")] = 0
    misses: Annotated[int, doc("Blocks that were not in its cache when they were read.")] = 0
    cache: Annotated[str, doc("Which cache it is: another one after the node lost it.")] = ""


class SampleSetStatus(Record, frozen=True):
    """What became of the data set."""

    phase: Annotated[str, doc("Where it stands: Bound, Mount, Syncing, SyncFailed, PartialReady or Ready.")] = ""
    cache_status: Annotated[CacheStatus | None, doc("How much data there is, and how much of it is cached.")] = None
    runtime_status: Annotated[RuntimeStatus | None, doc("The servers next to the data.")] = None
    jobs_name: Annotated[JobsName | None, doc("The work that the operator gave to the servers by itself.")] = None
    nodes: Annotated[
        tuple[NodeStatus, ...],
        doc(
            "The nodes that cache it, by partition.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["partition"]},
        ),
    ] = ()
    left_nodes: Annotated[
        tuple[str, ...], doc("Nodes that have no server of it any more, and whose caches are not emptied yet.")
    ] = ()
    observed_generation: Annotated[int, doc("The generation of the spec that this status is about.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "Why it stands where it does.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()


BEFORE_BOUND = "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase == ''"
BEFORE_SYNCED = f"{BEFORE_BOUND} || !(oldSelf.status.phase in ['PartialReady', 'Ready'])"


def frozen(field: str, until: str, message: str) -> Rule:
    return Rule(f"{until} || ({unchanged(f'spec.{field}')})", f"spec.{field} cannot change {message}")


class SampleSet(Kind, frozen=True):
    """A data set cached near the workers, in partitions, one per node."""

    definition: ClassVar[Definition] = Definition(
        group="batch.paddlepaddle.org",
        version="v1alpha1",
        kind="SampleSet",
        columns=(
            Column("TOTAL SIZE", ".status.cacheStatus.totalSize"),
            Column("CACHED SIZE", ".status.cacheStatus.cachedSize"),
            Column("AVAIL SPACE", ".status.cacheStatus.diskAvail"),
            Column("Runtime", ".status.runtimeStatus.runtimeReady"),
            Column("PHASE", ".status.phase"),
            Column("AGE", ".metadata.creationTimestamp", "date"),
        ),
        rules=(
            *service_name(LONGEST_NAME),
            *(
                frozen(field, BEFORE_BOUND, "once the volume is bound: make another SampleSet")
                for field in ("secretRef", "csi", "cache")
            ),
            *(
                frozen(field, BEFORE_SYNCED, "after the data was copied: run a SampleJob of type sync instead")
                for field in ("source", "sources", "noSync")
            ),
        ),
    )

    spec: Annotated[SampleSetSpec, doc("The data set that is wanted.")]
    status: Annotated[SampleSetStatus | None, doc("What became of it; written by the operator.")] = None
