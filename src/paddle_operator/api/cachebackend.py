"""CacheBackend: a job's data, cached by an engine."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.definition import AGE, Column, Definition, Kind
from paddle_operator.api.fields import Rule, doc, unchanged
from paddle_operator.api.formats import (
    AbsolutePath,
    CommaDirectories,
    DirectoryName,
    Label,
    Location,
    Quantity,
    service_name,
)
from paddle_operator.api.juicefs import JuiceFSMountOptions
from paddle_operator.api.meta import Condition, Record, Timestamp
from paddle_operator.api.references import SecretReference
from paddle_operator.api.sampleset import MediumType

# Fluid installs a Helm release of this name.
LONGEST_NAME = 53


class CacheBackendStatusWord(StrEnum):
    """Where a cache stands."""

    CACHE_CREATING = "CacheCreating"
    PVC_CREATING = "PVCCreating"
    PVC_CREATED = "PVCCreated"
    CACHE_FAILED = "CacheFailed"


class DataSource(Record, frozen=True):
    """Remote data, and the directory that it appears in."""

    location: Annotated[
        Location, doc("Where it is, as the engine writes it: s3://…, hdfs://…, pvc://…, local://….", minLength=5)
    ]
    sub_dir_name: Annotated[DirectoryName | None, doc("The directory below mountPath that it appears in.")] = None


class Dataset(Record, frozen=True):
    """The data to cache."""

    data_sources: Annotated[
        tuple[DataSource, ...],
        doc(
            "The data, one entry for each place that it comes from.",
            Rule(
                "self.all(one, !has(one.subDirName) || self.exists_one(other, has(other.subDirName)"
                " && other.subDirName == one.subDirName))",
                "two data sources cannot appear in the same subDirName",
            ),
            minItems=1,
            maxItems=32,
        ),
    ]


class TieredStorage(Record, frozen=True):
    """Directories of a node in which data is cached."""

    cache_path: Annotated[CommaDirectories, doc("The directories on the node, joined by ','.")]
    quota: Annotated[Quantity, doc("How much they may hold together, such as 1Gi.")]
    medium_type: Annotated[MediumType, doc("What the directories lie on.")]


class AlluxioRuntime(Record, frozen=True):
    """Alluxio's workers, which cache the data."""

    replicas: Annotated[int, doc("How many workers there are.", default=1, minimum=1, maximum=10000)] = msgspec.field(
        default_factory=lambda: 1
    )
    tiered_storage: Annotated[
        tuple[TieredStorage, ...], doc("Where each worker caches, the fastest first.", maxItems=16)
    ] = ()


class Fluid(Record, frozen=True):
    """Fluid, which must be installed in the cluster."""

    alluxio_runtime: Annotated[AlluxioRuntime, doc("Cache with Alluxio.")]


class JuiceFS(Record, frozen=True):
    """Our own engine: the data becomes a SampleSet."""

    secret_ref: Annotated[SecretReference, doc("The Secret of the JuiceFS volume, as a SampleSet has it.")]
    replicas: Annotated[
        int, doc("How many nodes cache the data, each a part of it.", default=1, minimum=1, maximum=10000)
    ] = msgspec.field(default_factory=lambda: 1)
    tiered_storage: Annotated[
        tuple[TieredStorage, ...], doc("Where each node caches, the fastest first.", maxItems=16)
    ] = ()
    mount_options: Annotated[JuiceFSMountOptions | None, doc("Options of `juicefs mount`.")] = None


class CacheEngine(Record, frozen=True):
    """What caches the data: one of these."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.fluid) != has(self.juicefs)", "cacheEngine must have exactly one engine: fluid or juicefs"),
        Rule("has(self.fluid) == has(oldSelf.fluid)", "a cache cannot change its engine: make another CacheBackend"),
    )

    fluid: Annotated[Fluid | None, doc("Cache with Fluid.")] = None
    juicefs: Annotated[JuiceFS | None, doc("Cache with JuiceFS, as a SampleSet does.")] = None


class CacheOptions(Record, frozen=True):
    """How the cache is kept."""

    idle_time: Annotated[
        int | None,
        doc("Delete the cache after so many seconds without a job that uses it; 0 or left out: never.", minimum=0),
    ] = None


class CacheBackendSpec(Record, frozen=True):
    """The cache that is wanted."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.dataset) == has(self.cacheEngine)",
            "dataset, what to cache, and cacheEngine, what caches it, go together: give both or neither",
        ),
    )

    name: Annotated[Label | None, doc("In a job: the CacheBackend to use, or to create if there is none.")] = None
    mount_path: Annotated[AbsolutePath | None, doc("In a job: the directory of the data in every container.")] = None
    dataset: Annotated[Dataset | None, doc("The data to cache.")] = None
    cache_engine: Annotated[CacheEngine | None, doc("What caches it.")] = None
    options: Annotated[CacheOptions | None, doc("How the cache is kept.")] = None


class CacheBackendStatus(Record, frozen=True):
    """What became of the cache."""

    job_name: Annotated[str, doc("The job that it was created for.")] = ""
    cache_engine: Annotated[str, doc("The engine: fluid or juicefs.")] = ""
    cache_status: Annotated[str, doc("Where it stands: CacheCreating, PVCCreating, PVCCreated or CacheFailed.")] = ""
    used_by: Annotated[tuple[str, ...], doc("Jobs that use it now.")] = ()
    used_num: Annotated[int, doc("How many they are.")] = 0
    last_used_time: Annotated[Timestamp | None, doc("Since when nobody uses it.")] = None
    total_bytes: Annotated[int | None, doc("The size of the data.")] = None
    cached_bytes: Annotated[int | None, doc("How much of it is cached.")] = None
    observed_generation: Annotated[int, doc("The generation of the spec that this status is about.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "Why it stands where it does.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()


class CacheBackend(Kind, frozen=True):
    """A job's data, cached by an engine."""

    definition: ClassVar[Definition] = Definition(
        group="cache.kubedl.io",
        version="v1alpha1",
        kind="CacheBackend",
        columns=(
            Column("Job-Name", ".status.jobName"),
            Column("Cache-Status", ".status.cacheStatus"),
            AGE,
            Column("Engine", ".status.cacheEngine", priority=1),
            Column("Used-Num", ".status.usedNum", "integer", priority=1),
            Column("Last-Used-Time", ".status.lastUsedTime", "date", priority=1),
        ),
        rules=(
            *service_name(LONGEST_NAME),
            Rule(
                "!has(oldSelf.status) || !has(oldSelf.status.cacheStatus) || oldSelf.status.cacheStatus != 'PVCCreated'"
                f" || ({unchanged('spec.dataset')})",
                "spec.dataset cannot change once the cache is there: make another CacheBackend",
            ),
        ),
    )

    spec: Annotated[CacheBackendSpec, doc("The cache that is wanted.")]
    status: Annotated[CacheBackendStatus | None, doc("What became of it; written by the operator.")] = None
