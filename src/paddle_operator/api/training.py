"""TFJob and PyTorchJob: training jobs that may name a CacheBackend."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.cachebackend import CacheBackendSpec, cache_rules, own_cache_rules
from paddle_operator.api.definition import AGE, Column, Definition, Kind
from paddle_operator.api.fields import Rule, doc, unchanged
from paddle_operator.api.formats import CronSchedule, service_name
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition, Record, Timestamp
from paddle_operator.api.podtemplate import PodTemplate
from paddle_operator.api.references import SampleSetReference
from paddle_operator.api.samplejob import ConcurrencyPolicy

GROUP = "training.kubedl.io"
VERSION = "v1alpha1"
# "JOB-evaluator-9999" is the name of a pod and of its service, which have at most 63 characters.
LONGEST_NAME = 48


class TrainingCleanPodPolicy(StrEnum):
    """Which pods of a finished job are deleted."""

    DEFAULT = ""
    ALL = "All"
    RUNNING = "Running"
    NONE = "None"


class SuccessPolicy(StrEnum):
    """Who must succeed for a job to succeed."""

    DEFAULT = ""
    ALL_WORKERS = "AllWorkers"


class RestartPolicy(StrEnum):
    """What happens to a pod that ended."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class TrainingSchedulingPolicy(Record, frozen=True):
    """How a gang scheduler schedules the job's pods, all or none."""

    min_available: Annotated[int | None, doc("Pods that must fit at once; all of them if left out.", minimum=0)] = None
    priority: Annotated[int | None, doc("The job's priority.")] = None
    priority_class_name: Annotated[str | None, doc("The job's PriorityClass.")] = None
    queue: Annotated[str | None, doc("The queue to wait in.")] = None


class CronPolicy(Record, frozen=True):
    """Run the job again and again."""

    schedule: Annotated[CronSchedule, doc("When, as a cron schedule: minute hour day month weekday.")]
    concurrency_policy: Annotated[
        ConcurrencyPolicy | None,
        doc(
            "When a run is due and the last one goes on: Allow both (the default), Forbid the new, or Replace the old."
        ),
    ] = None
    suspend: Annotated[bool | None, doc("Start no more runs until this is false again.")] = None
    deadline: Annotated[Timestamp | None, doc("Start no more runs after this.")] = None
    history_limit: Annotated[int | None, doc("Finished runs to keep.", minimum=0)] = None


class SpotReplicaSpec(Record, frozen=True):
    """The replicas, those with the highest numbers, that run on nodes which may be taken away."""

    spot_replica_number: Annotated[int | None, doc("How many they are.", minimum=0)] = None
    priority_class_name: Annotated[str | None, doc("Their PriorityClass.")] = None
    labels: Annotated[dict[str, str], doc("Labels that they have besides.")] = msgspec.field(default_factory=dict)


class ReplicaSpec(Record, frozen=True):
    """The pods of one type: what they run and how many there are."""

    template: Annotated[PodTemplate, doc("The pods to make. Their restartPolicy is that of the replica.")]
    replicas: Annotated[int | None, doc("How many pods there are (1).", minimum=0, maximum=10000)] = None
    restart_policy: Annotated[
        RestartPolicy | None,
        doc("What happens to a pod that ended; ExitCode makes it anew where its exit code says that this may help."),
    ] = None
    spot_replica_spec: Annotated[SpotReplicaSpec | None, doc("Replicas that may be taken away.")] = None


class ModelVersion(Record, frozen=True):
    """The model that the job makes."""

    model_name: Annotated[str | None, doc("The model's name.")] = None
    image_repo: Annotated[str | None, doc("The repository to push the model's image to.")] = None
    image_tag: Annotated[str | None, doc("The image's tag.")] = None
    storage: Annotated[Manifest | None, doc("Where the job puts the model: nfs, localStorage or AWSEfs.")] = None
    created_by: Annotated[str | None, doc("Who made it.")] = None


class TrainingJobSpec(Record, frozen=True):
    """What jobs of every framework have."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *cache_rules(),
        Rule(unchanged("sampleSetRef"), "sampleSetRef cannot change: delete the job and create it anew"),
    )

    clean_pod_policy: Annotated[
        TrainingCleanPodPolicy | None, doc("Which pods of a finished job to delete: All, those still Running, or None.")
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None, doc("Delete the job so many seconds after its end; never if left out.", minimum=0)
    ] = None
    active_deadline_seconds: Annotated[
        int | None, doc("Fail the job if it is not done so many seconds after its start.", minimum=0)
    ] = None
    backoff_limit: Annotated[int | None, doc("How often pods may fail before the job does.", minimum=0)] = None
    scheduling_policy: Annotated[TrainingSchedulingPolicy | None, doc("How a gang scheduler schedules the job.")] = None
    cron_policy: Annotated[CronPolicy | None, doc("Run the job again and again.")] = None
    model_version: Annotated[ModelVersion | None, doc("The model that the job makes.")] = None
    cache_backend: Annotated[CacheBackendSpec | None, doc("The cached data that the job trains on.")] = None
    sample_set_ref: Annotated[SampleSetReference | None, doc("The cached data set that the job trains on.")] = None


def replica_types(*names: str) -> tuple[Rule, Rule]:
    """Name the types of pods that a job may have, in whatever case they are written."""
    known = ", ".join(names)
    return (
        Rule(f"self.all(type, type.matches('^(?i:{'|'.join(names)})$'))", f"the types of replicas are {known}"),
        Rule(
            "self.exists(type, !has(self[type].replicas) || self[type].replicas >= 1)", "a job needs at least one pod"
        ),
    )


class TFJobSpec(TrainingJobSpec, frozen=True, kw_only=True):
    """The job that is wanted."""

    tf_replica_specs: Annotated[
        dict[str, ReplicaSpec],
        doc(
            "The pods, by type: PS, Worker, Chief, Master, Evaluator or AIMaster.",
            *replica_types("PS", "Worker", "Chief", "Master", "Evaluator", "AIMaster"),
            minProperties=1,
            maxProperties=6,
        ),
    ]
    success_policy: Annotated[
        SuccessPolicy | None, doc("Who must succeed: AllWorkers, or the chief or worker 0 alone (the default).")
    ] = None


class PyTorchJobSpec(TrainingJobSpec, frozen=True, kw_only=True):
    """The job that is wanted."""

    pytorch_replica_specs: Annotated[
        dict[str, ReplicaSpec],
        doc(
            "The pods, by type: Master, Worker or AIMaster.",
            *replica_types("Master", "Worker", "AIMaster"),
            minProperties=1,
            maxProperties=3,
        ),
    ]


class ReplicaStatus(Record, frozen=True):
    """How many pods of a type are in which state."""

    active: Annotated[int, doc("Pods that run or are about to.")] = 0
    succeeded: Annotated[int, doc("Pods that ended well.")] = 0
    failed: Annotated[int, doc("Pods that failed.")] = 0
    evicted: Annotated[int, doc("Pods that were evicted.")] = 0
    completed: Annotated[
        str, doc("The numbers of the pods that ended well, such as 0-3,7: they are not run again, even if deleted.")
    ] = ""


class TrainingJobStatus(Record, frozen=True):
    """What became of the job."""

    conditions: Annotated[tuple[Condition, ...], doc("What happened to the job; the last one is its state.")] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus], doc("The pods, by type.")] = msgspec.field(
        default_factory=dict
    )
    start_time: Annotated[Timestamp | None, doc("When the job was started.")] = None
    completion_time: Annotated[Timestamp | None, doc("When the job ended.")] = None
    restarts: Annotated[int, doc("How often pods were made anew after they failed.")] = 0
    restarting: Annotated[tuple[str, ...], doc("The uids of failed pods that are counted in restarts already.")] = ()
    revision: Annotated[str, doc("What its pods were made from; a hash.")] = ""
    last_reconcile_time: Annotated[Timestamp | None, doc("When the job was last looked at.")] = None
    model_version_name: Annotated[str, doc("The ModelVersion that it made.")] = ""
    cache_backend_name: Annotated[str, doc("The CacheBackend that it uses.")] = ""
    observed_generation: Annotated[int, doc("The generation of the spec that this status is about.")] = 0


def training_kind(kind: str) -> Definition:
    return Definition(
        group=GROUP,
        version=VERSION,
        kind=kind,
        columns=(
            Column("State", ".status.conditions[-1:].type"),
            AGE,
            Column("Model-Version", ".status.modelVersionName"),
            Column("Cache-Backend", ".status.cacheBackendName"),
            Column("Max-Lifetime", ".spec.activeDeadlineSeconds", "integer"),
            Column("TTL-AFTER-FINISHED", ".spec.ttlSecondsAfterFinished", "integer"),
        ),
        rules=(
            *service_name(LONGEST_NAME),
            *own_cache_rules(),
        ),
    )


class TFJob(Kind, frozen=True):
    """A TensorFlow training job that may have its data cached."""

    definition: ClassVar[Definition] = training_kind("TFJob")

    spec: Annotated[TFJobSpec, doc("The job that is wanted.")]
    status: Annotated[TrainingJobStatus | None, doc("What became of it; written by the operator.")] = None


class PyTorchJob(Kind, frozen=True):
    """A PyTorch training job that may have its data cached."""

    definition: ClassVar[Definition] = training_kind("PyTorchJob")

    spec: Annotated[PyTorchJobSpec, doc("The job that is wanted.")]
    status: Annotated[TrainingJobStatus | None, doc("What became of it; written by the operator.")] = None
