"""CacheBackend: a job's data, cached by an engine."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.definition import AGE, Column, Definition, Kind
from paddle_operator.api.fields import Rule, at_birth, doc, unchanged
from paddle_operator.api.formats import (
    AbsolutePath,
    CommaDirectories,
    DirectoryName,
    Label,
    Location,
    PlainName,
    PlainPath,
    Quantity,
    service_name,
)
from paddle_operator.api.juicefs import JuiceFSMountOptions
from paddle_operator.api.meta import Condition, Record, Timestamp
from paddle_operator.api.references import SecretReference
from paddle_operator.api.sampleset import LONGEST_NAME as LONGEST_SAMPLESET
from paddle_operator.api.sampleset import MOST_PARTITIONS, MediumType

# Fluid installs a Helm release of this name.
LONGEST_NAME = 53
# "cache-JOB-12345" is the name of a cache that the job does not name.
AROUND_JOB = len("cache--12345")
# Where a job describes a cache on our own engine, which becomes a SampleSet of the same name.
ON_JUICEFS = "has({0}.cacheEngine) && has({0}.cacheEngine.juicefs)"


class CacheBackendStatusWord(StrEnum):
    """Where a cache stands."""

    CACHE_CREATING = "CacheCreating"
    PVC_CREATING = "PVCCreating"
    PVC_CREATED = "PVCCreated"
    CACHE_FAILED = "CacheFailed"


class OnCacheFailure(StrEnum):
    """What a job does when its cache has failed; without a word it waits for it to recover."""

    FAIL = "Fail"
    RUN_WITHOUT = "RunWithout"


class CachePlacement(StrEnum):
    """Whether the workers of another Fluid cache may be on the same node."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"


class WaitFor(StrEnum):
    """When a cache that preloads its data is ready."""

    BOUND = "Bound"
    LOADED = "Loaded"


class SecretKey(Record, frozen=True):
    """A value in a Secret."""

    name: Annotated[PlainName, doc("The Secret's name.")]
    key: Annotated[str, doc("The key in it.", minLength=1, maxLength=253)]


class SecretValue(Record, frozen=True):
    """Where a value comes from."""

    secret_key_ref: Annotated[SecretKey, doc("A Secret of the cache's namespace.")]


class SourceSecret(Record, frozen=True):
    """The Secret of a source, whose name and namespace each fall back to the volume's."""

    name: Annotated[PlainName | None, doc("The Secret's name; that of juicefs.secretRef if left out.")] = None
    namespace: Annotated[PlainName | None, doc("Its namespace; that of juicefs.secretRef if left out.")] = None


class EncryptOption(Record, frozen=True):
    """An option of a Fluid mount whose value is in a Secret."""

    name: Annotated[str, doc("The option's name.", minLength=1, maxLength=253)]
    value_from: Annotated[SecretValue, doc("Its value.")]


class DataSource(Record, frozen=True):
    """Remote data, and the directory that it appears in."""

    location: Annotated[
        Location, doc("Where it is, as the engine writes it: s3://…, hdfs://…, pvc://…, local://….", minLength=5)
    ]
    sub_dir_name: Annotated[DirectoryName | None, doc("The directory below mountPath that it appears in.")] = None
    options: Annotated[dict[str, str], doc("Fluid: options of the mount.", maxProperties=64)] = msgspec.field(
        default_factory=dict
    )
    encrypt_options: Annotated[
        tuple[EncryptOption, ...], doc("Fluid: options of the mount in Secrets.", maxItems=16)
    ] = ()
    secret_ref: Annotated[
        SourceSecret | None,
        doc("JuiceFS: the Secret with access-key and secret-key of this source; that of the volume if left out."),
    ] = None


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


class JuiceFSRuntime(AlluxioRuntime, frozen=True):
    """JuiceFS' workers, as Fluid runs them."""


class Fluid(Record, frozen=True):
    """Fluid, which must be installed in the cluster."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.alluxioRuntime) != has(self.juicefsRuntime)",
            "fluid must have exactly one runtime: alluxioRuntime or juicefsRuntime",
        ),
        Rule(
            "has(self.alluxioRuntime) == has(oldSelf.alluxioRuntime)",
            "a cache cannot change its runtime: make another CacheBackend",
        ),
    )

    alluxio_runtime: Annotated[AlluxioRuntime | None, doc("Cache with Alluxio.")] = None
    juicefs_runtime: Annotated[JuiceFSRuntime | None, doc("Cache with JuiceFS, run by Fluid.")] = None


class JuiceFS(Record, frozen=True):
    """Our own engine: the data becomes a SampleSet."""

    secret_ref: Annotated[SecretReference, doc("The Secret of the JuiceFS volume, as a SampleSet has it.")]
    replicas: Annotated[
        int, doc("How many nodes cache the data, each a part of it.", default=1, minimum=1, maximum=MOST_PARTITIONS)
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


class Preload(Record, frozen=True):
    """What is brought into the cache before anybody reads it. JuiceFS, our own engine, always brings in all."""

    paths: Annotated[tuple[PlainPath, ...], doc("Directories of the data; all of it if left out.", maxItems=64)] = ()
    load_metadata: Annotated[bool | None, doc("Look first for what is new in the data's place.")] = None
    wait_for: Annotated[
        WaitFor | None, doc("The cache is ready when it is Bound (the default), or only when the data is Loaded.")
    ] = None


class CacheOptions(Record, frozen=True):
    """How the cache is kept."""

    idle_time: Annotated[
        int | None,
        doc(
            "Delete the cache after so many seconds without a job that uses it, below 0 at once; 0 or left out: never."
        ),
    ] = None
    timeout_seconds: Annotated[
        int | None,
        doc("CacheFailed if it is not ready after so many seconds; if left out it may take any time.", minimum=1),
    ] = None
    placement: Annotated[
        CachePlacement | None, doc("Fluid: whether workers of other caches may be on the same node (Shared).")
    ] = None
    preload: Annotated[Preload | None, doc("Bring the data into the cache before anybody reads it.")] = None


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
    on_cache_failure: Annotated[
        OnCacheFailure | None,
        doc("In a job: when the cache has failed, Fail the job or RunWithout it; if left out, wait for it to recover."),
    ] = None


def cache_rules() -> tuple[Rule, ...]:
    """Give what is asked of a job's cacheBackend."""
    return (
        Rule(unchanged("cacheBackend"), "cacheBackend cannot change: delete the job and create it anew"),
        Rule(
            "!has(self.cacheBackend) || has(self.cacheBackend.mountPath)",
            "cacheBackend needs mountPath: the directory of the data in every container",
        ),
        Rule(
            "!has(self.cacheBackend) || has(self.cacheBackend.name) || has(self.cacheBackend.cacheEngine)",
            "cacheBackend needs the name of a CacheBackend, or dataset and cacheEngine to create one",
        ),
        Rule(
            "!has(self.cacheBackend) || !has(self.cacheBackend.name)"
            f" || (self.cacheBackend.name.size() <= {LONGEST_NAME} && self.cacheBackend.name.matches('^[a-z]'))",
            f"cacheBackend.name must begin with a letter and have at most {LONGEST_NAME} characters,"
            " as the name of a CacheBackend does",
        ),
        Rule(
            f"!has(self.cacheBackend) || !has(self.cacheBackend.name) || !({ON_JUICEFS.format('self.cacheBackend')})"
            f" || self.cacheBackend.name.size() <= {LONGEST_SAMPLESET}",
            f"cacheBackend.name must have at most {LONGEST_SAMPLESET} characters with the engine juicefs:"
            " a SampleSet has the same name",
        ),
    )


def own_cache_rules() -> tuple[Rule, ...]:
    """Give what is asked of the name of a job that does not name its cache."""
    named = "!has(self.spec.cacheBackend) || has(self.spec.cacheBackend.name)"
    any_engine, juicefs = LONGEST_NAME - AROUND_JOB, LONGEST_SAMPLESET - AROUND_JOB
    return (
        Rule(
            at_birth(f"{named} || self.metadata.name.size() <= {any_engine}"),
            f"metadata.name must have at most {any_engine} characters, or cacheBackend a name:"
            " the cache is named after the job",
        ),
        Rule(
            at_birth(
                f"{named} || !({ON_JUICEFS.format('self.spec.cacheBackend')}) || self.metadata.name.size() <= {juicefs}"
            ),
            f"metadata.name must have at most {juicefs} characters with the engine juicefs, or cacheBackend a name:"
            " the SampleSet is named after the job",
        ),
    )


class CacheUser(Record, frozen=True):
    """A job that uses a cache."""

    kind: Annotated[str, doc("The job's kind.")]
    name: Annotated[str, doc("Its name.")]
    uid: Annotated[str, doc("Its uid.")] = ""


class CacheBackendStatus(Record, frozen=True):
    """What became of the cache."""

    job_name: Annotated[str, doc("The job that it was created for.")] = ""
    cache_engine: Annotated[str, doc("The engine: fluid or juicefs.")] = ""
    cache_status: Annotated[str, doc("Where it stands: CacheCreating, PVCCreating, PVCCreated or CacheFailed.")] = ""
    used_by: Annotated[tuple[str, ...], doc("Jobs that use it now, by name.")] = ()
    used_num: Annotated[int, doc("How many they are.", default=0)] = msgspec.field(default_factory=lambda: 0)
    users: Annotated[tuple[CacheUser, ...], doc("The same jobs; of very many only the first 1000.")] = ()
    last_used_time: Annotated[Timestamp | None, doc("Since when nobody uses it.")] = None
    total_bytes: Annotated[int | None, doc("The size of the data.")] = None
    cached_bytes: Annotated[int | None, doc("How much of it is cached.")] = None
    node_label: Annotated[str, doc("Fluid: the label of the nodes that cache it, which pods of jobs prefer.")] = ""
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
                at_birth(
                    "!has(self.spec.cacheEngine) || !has(self.spec.cacheEngine.juicefs)"
                    f" || self.metadata.name.size() <= {LONGEST_SAMPLESET}"
                ),
                f"metadata.name must have at most {LONGEST_SAMPLESET} characters with the engine juicefs:"
                " a SampleSet has the same name",
            ),
            Rule(
                "!has(oldSelf.status) || !has(oldSelf.status.cacheStatus) || oldSelf.status.cacheStatus != 'PVCCreated'"
                f" || ({unchanged('spec.dataset')})",
                "spec.dataset cannot change once the cache is there: make another CacheBackend",
            ),
        ),
    )

    spec: Annotated[CacheBackendSpec, doc("The cache that is wanted.")]
    status: Annotated[CacheBackendStatus | None, doc("What became of it; written by the operator.")] = None
