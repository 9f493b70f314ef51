"""SampleJob: sync, warmup, rmr or clear on a SampleSet, once or by a schedule."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.definition import Column, Definition, Kind
from paddle_operator.api.fields import Rule, at_birth, doc
from paddle_operator.api.formats import CachePath, CronSchedule, DataPath, Label, TimeZone, short_name
from paddle_operator.api.juicefs import SyncOptions
from paddle_operator.api.meta import Condition, Record, Timestamp
from paddle_operator.api.references import ObjectReference, SecretReference

# With what is put before it, a finalizer's name; a run of a schedule is named "JOB-<minute>", of 8 digits.
LONGEST_NAME = 52
LONGEST_NAME_OF_SCHEDULE = 43


class SampleJobType(StrEnum):
    """What a SampleJob does."""

    SYNC = "sync"
    WARMUP = "warmup"
    RMR = "rmr"
    CLEAR = "clear"


class WarmupStrategy(StrEnum):
    """How a warm-up spreads files over the partitions."""

    RANDOM = "random"
    SEQUENCE = "sequence"
    SAMPLER = "sampler"


class ConcurrencyPolicy(StrEnum):
    """What happens when a run is due and the last one still goes on."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class SampleJobPhase(StrEnum):
    """Where a SampleJob stands."""

    NONE = ""
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class SampleSetName(Record, frozen=True):
    """A SampleSet of the same namespace."""

    name: Annotated[Label, doc("The SampleSet's name.", minLength=1)]


class SamplerOptions(Record, frozen=True):
    """How a training reads: as the arguments of Paddle's DistributedBatchSampler, whose rank i is partition i."""

    batch_size: Annotated[int, doc("Samples in a batch of one rank.", minimum=1, maximum=1 << 30)] = 1
    shuffle: Annotated[bool, doc("Whether the samples are shuffled, anew for each epoch.")] = False
    drop_last: Annotated[bool, doc("Whether a last batch that is not full is left out.")] = False
    epoch: Annotated[int, doc("The epoch to warm up for; Paddle shuffles by it.", minimum=0, maximum=(1 << 32) - 1)] = 0


class WarmupOptions(Record, frozen=True):
    """What to bring into the nodes' caches, and how."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.sampler) == (has(self.strategyName) && self.strategyName == 'sampler')",
            "strategyName: sampler needs sampler, with batchSize and so on; and sampler is for that strategy alone",
        ),
    )

    paths: Annotated[
        tuple[DataPath, ...], doc("Paths in the data set; all of it if left out.", minItems=1, maxItems=256)
    ] = ()
    partitions: Annotated[int | None, doc("Ignored: it is the SampleSet's number of partitions.", minimum=1)] = None
    strategy_name: Annotated[WarmupStrategy, doc("How files are spread over the partitions.", default="sequence")] = (
        msgspec.field(default_factory=lambda: WarmupStrategy.SEQUENCE)
    )
    sampler: Annotated[SamplerOptions | None, doc("How the training reads, for the strategy sampler.")] = None
    file: Annotated[
        DataPath | None,
        doc("A file of the data set that lists what to warm up, a path on each line; paths are ignored then."),
    ] = None
    threads: Annotated[int | None, doc("Reads at once on each node (50).", minimum=0, maximum=10000)] = None


class RmrOptions(Record, frozen=True):
    """What to remove from the data set."""

    paths: Annotated[tuple[DataPath, ...], doc("Paths in the data set.", minItems=1, maxItems=256)]


class ClearOptions(Record, frozen=True):
    """What to clear from the nodes' caches."""

    paths: Annotated[
        tuple[CachePath, ...], doc("Cache directories; all of them if left out.", minItems=1, maxItems=256)
    ] = ()


class SampleJobSpec(Record, frozen=True):
    """The work that is wanted."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("self.type != 'rmr' || has(self.rmrOptions)", "a job of type rmr needs rmrOptions.paths: what to remove"),
        Rule(
            "self.type != 'sync' || has(self.secretRef)",
            "a job of type sync needs secretRef: the Secret with the source's keys",
        ),
        Rule(
            "has(self.schedule) || !(has(self.suspend) || has(self.concurrencyPolicy) || has(self.timeZone)"
            " || has(self.startingDeadlineSeconds) || has(self.successfulJobsHistoryLimit)"
            " || has(self.failedJobsHistoryLimit))",
            "suspend, concurrencyPolicy, timeZone, startingDeadlineSeconds and the history limits are about a schedule:"
            " give schedule too",
        ),
        Rule(
            "has(self.schedule) == has(oldSelf.schedule)",
            "a job cannot get a schedule, or lose it: make another SampleJob",
        ),
        Rule(
            "!has(self.schedule) || !has(self.ttlSecondsAfterFinished)",
            "a job with a schedule never finishes: leave out ttlSecondsAfterFinished, and see the history limits",
        ),
    )

    type: Annotated[
        SampleJobType,
        doc(
            "What to do: sync copies remote data into the data set, warmup brings data into the nodes' caches, rmr"
            " removes data, clear empties the caches.",
            Rule("self == oldSelf", "type cannot change: make another SampleJob"),
        ),
    ]
    sample_set_ref: Annotated[
        SampleSetName,
        doc(
            "The SampleSet to work on, in the same namespace.",
            Rule("self == oldSelf", "sampleSetRef cannot change: make another SampleJob"),
        ),
    ]
    secret_ref: Annotated[SecretReference | None, doc("The Secret with a sync's access-key and secret-key.")] = None
    terminate: Annotated[bool | None, doc("First cancel what runs or waits on the SampleSet.")] = None
    sync_options: Annotated[SyncOptions | None, doc("How to copy, for type sync.")] = None
    warmup_options: Annotated[WarmupOptions | None, doc("What to warm up, for type warmup.")] = None
    rmr_options: Annotated[RmrOptions | None, doc("What to remove, for type rmr.")] = None
    clear_options: Annotated[ClearOptions | None, doc("What to clear, for type clear.")] = None
    schedule: Annotated[
        CronSchedule | None, doc("Do it again and again, by this cron schedule: minute hour day month weekday.")
    ] = None
    time_zone: Annotated[
        TimeZone | None,
        doc("The schedule's time zone; the manager's, which is UTC unless its TZ says otherwise, if left out."),
    ] = None
    suspend: Annotated[bool | None, doc("Start no more runs until this is false again.")] = None
    concurrency_policy: Annotated[
        ConcurrencyPolicy | None,
        doc(
            "When a run is due and the last one goes on: Allow both (the default), Forbid the new, or Replace the old."
        ),
    ] = None
    starting_deadline_seconds: Annotated[
        int | None, doc("Seconds that a missed run may be late before it is left out.", minimum=0)
    ] = None
    successful_jobs_history_limit: Annotated[int | None, doc("Runs that succeeded to keep (3).", minimum=0)] = None
    failed_jobs_history_limit: Annotated[int | None, doc("Runs that failed to keep (1).", minimum=0)] = None
    backoff_limit: Annotated[int | None, doc("How often to try again after a failure (0).", minimum=0)] = None
    active_deadline_seconds: Annotated[
        int | None, doc("Cancel the work so many seconds after it was begun; never if left out.", minimum=1)
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None, doc("Delete the job so many seconds after its end; never if left out.", minimum=0)
    ] = None


class CronJobStatus(Record, frozen=True):
    """The runs of a schedule."""

    active: Annotated[tuple[ObjectReference, ...], doc("Runs that go on now; of very many only the first 100.")] = ()
    last_schedule_time: Annotated[Timestamp | None, doc("When a run was last started.")] = None
    last_successful_time: Annotated[Timestamp | None, doc("When a run last ended well.")] = None
    next_schedule_time: Annotated[Timestamp | None, doc("When the next run is due.")] = None


class PartitionResult(Record, frozen=True):
    """What one partition's server says of its part of the work."""

    pod: Annotated[str, doc("The server's pod.")]
    partition: Annotated[int, doc("The partition's number, from 0 on.")] = 0
    phase: Annotated[str, doc("Where its part stands: Queued, Running, Succeeded, Failed or Lost.")] = ""
    message: Annotated[str, doc("What went wrong, or what there is to know.")] = ""
    done_files: Annotated[int | None, doc("Files done so far.")] = None
    total_files: Annotated[int | None, doc("Files to do; 0 if it is not known.")] = None
    done_bytes: Annotated[int | None, doc("Bytes done so far.")] = None
    total_bytes: Annotated[int | None, doc("Bytes to do; 0 if it is not known.")] = None
    bytes_per_second: Annotated[int | None, doc("How quickly it was going when it was last heard.")] = None
    seconds_left: Annotated[int | None, doc("How long the rest takes at that rate.")] = None
    expected_blocks: Annotated[int | None, doc("Blocks that must be in the cache after a warm-up.")] = None
    present_blocks: Annotated[int | None, doc("Blocks that were there.")] = None
    missing_files: Annotated[int | None, doc("Files of which some were not.")] = None
    missing: Annotated[tuple[str, ...], doc("The first of their names.")] = ()
    damaged_files: Annotated[
        int | None, doc("Files among the missing whose bytes are not those that were first read.")
    ] = None
    dealt_from: Annotated[
        str, doc("Number and checksum of the files that it took a share of: unless all saw the same, none succeeds.")
    ] = ""
    away_since: Annotated[Timestamp | None, doc("Since when the server does not answer.")] = None


class SampleJobStatus(Record, frozen=True):
    """What became of the work."""

    phase: Annotated[str, doc("Where it stands: Pending, Running, Succeeded or Failed.")] = ""
    job_name: Annotated[str, doc("Its id on the servers.")] = ""
    start_time: Annotated[Timestamp | None, doc("When it was given to the servers.")] = None
    completion_time: Annotated[Timestamp | None, doc("When it ended.")] = None
    progress: Annotated[str, doc("How much of it is done, for people.")] = ""
    retries: Annotated[int, doc("How often it was tried again.")] = 0
    retry_time: Annotated[Timestamp | None, doc("When what failed is tried again.")] = None
    results: Annotated[tuple[PartitionResult, ...], doc("What each partition's server says.")] = ()
    cron_job_status: Annotated[CronJobStatus | None, doc("The runs of a job with a schedule.")] = None
    observed_generation: Annotated[int, doc("The generation of the spec that this status is about.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "Why it stands where it does.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()


class SampleJob(Kind, frozen=True):
    """Work on a SampleSet's data: sync, warmup, rmr or clear, once or by a schedule."""

    definition: ClassVar[Definition] = Definition(
        group="batch.paddlepaddle.org",
        version="v1alpha1",
        kind="SampleJob",
        columns=(
            Column("PHASE", ".status.phase"),
            Column("TYPE", ".spec.type"),
            Column("SAMPLESET", ".spec.sampleSetRef.name"),
            Column("PROGRESS", ".status.progress"),
            Column("AGE", ".metadata.creationTimestamp", "date"),
            Column("SCHEDULE", ".spec.schedule", priority=1),
        ),
        rules=(
            short_name(LONGEST_NAME),
            Rule(
                at_birth(f"!has(self.spec.schedule) || self.metadata.name.size() <= {LONGEST_NAME_OF_SCHEDULE}"),
                f"metadata.name must have at most {LONGEST_NAME_OF_SCHEDULE} characters:"
                " the names of a schedule's runs are longer",
            ),
        ),
    )

    spec: Annotated[SampleJobSpec, doc("The work that is wanted.")]
    status: Annotated[SampleJobStatus | None, doc("What became of it; written by the operator.")] = None
