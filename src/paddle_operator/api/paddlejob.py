"""PaddleJob: a Paddle training job with parameter servers, collective, or of a single pod."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from paddle_operator.api.cachebackend import CacheBackendSpec, cache_rules, own_cache_rules
from paddle_operator.api.definition import AGE, Column, Definition, Kind
from paddle_operator.api.fields import Rule, doc, unchanged
from paddle_operator.api.formats import QuantityOrNumber, service_name
from paddle_operator.api.meta import Condition, Record, Timestamp
from paddle_operator.api.podtemplate import PodTemplate
from paddle_operator.api.references import ObjectReference, SampleSetReference

# "JOB-worker-9999" is the name of a pod and of its service, which have at most 63 characters.
LONGEST_NAME = 51
MOST_REPLICAS = 10000
ROLE_REPLICAS = " + ".join(f"(has(self.{role}) ? self.{role}.replicas : 0)" for role in ("ps", "worker", "heter"))


class CleanPodPolicy(StrEnum):
    """When a finished job's pods are deleted."""

    DEFAULT = ""
    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_FAILED = "OnFailed"
    ON_COMPLETION = "OnCompletion"


class Intranet(StrEnum):
    """How a job's pods reach each other."""

    DEFAULT = ""
    POD_IP = "PodIP"
    SERVICE = "Service"
    HOST = "Host"


class PaddleJobPhase(StrEnum):
    """Where a job stands."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    RESTARTING = "Restarting"
    SCALING = "Scaling"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"
    SUCCEED = "Succeed"
    UNKNOWN = "Unknown"


class PaddleJobMode(StrEnum):
    """How a job's pods train together."""

    PS = "PS"
    COLLECTIVE = "Collective"
    SINGLE = "Single"


class ElasticStatus(StrEnum):
    """What a change of the number of workers has come to."""

    NONE = "NONE"
    DOING = "DOING"
    DONE = "DONE"
    ERROR = "ERROR"


class PaddleSchedulingPolicy(Record, frozen=True):
    """How a gang scheduler schedules the job's pods, all or none."""

    min_available: Annotated[int | None, doc("Pods that must fit at once; all of them if left out.", minimum=0)] = None
    queue: Annotated[str | None, doc("The Volcano queue to wait in.")] = None
    priority_class: Annotated[str | None, doc("The PriorityClass of the whole job.")] = None
    min_resources: Annotated[
        dict[str, QuantityOrNumber],
        doc(
            "Resources that must be free at once; the sum of what the pods request if left out.",
        ),
    ] = msgspec.field(default_factory=dict)


class Role(Record, frozen=True):
    """The pods of one role: what they run and how many there are."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.requests) || !has(self.limits) || self.requests <= self.limits",
            "requests, the fewest replicas, must not be more than limits, the most",
        ),
    )

    replicas: Annotated[
        int, doc("How many pods the role has; leave out a role that has none.", minimum=1, maximum=MOST_REPLICAS)
    ]
    template: Annotated[PodTemplate, doc("The pods to make. The first container is the one that trains.")]
    requests: Annotated[int | None, doc("The fewest replicas that an elastic job goes on with.", minimum=0)] = None
    limits: Annotated[int | None, doc("The most replicas that an elastic job grows to.", minimum=0)] = None


class PaddleJobSpec(Record, frozen=True):
    """The job that is wanted."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.ps) || has(self.worker) || has(self.heter)", "a PaddleJob needs a role: ps, worker or heter"),
        Rule(
            "!has(self.schedulingPolicy) || !has(self.schedulingPolicy.minAvailable)"
            f" || self.schedulingPolicy.minAvailable <= {ROLE_REPLICAS}",
            "schedulingPolicy.minAvailable must not be more than the replicas of all roles: the job would never start",
        ),
        Rule("!has(self.elastic) || has(self.worker)", "an elastic job needs workers: give worker too"),
        Rule(
            "!has(self.elastic) || !has(self.worker)"
            " || ((!has(self.worker.requests) || self.worker.requests <= self.worker.replicas)"
            " && (!has(self.worker.limits) || self.worker.limits == 0 || self.worker.replicas <= self.worker.limits))",
            "worker.replicas of an elastic job must not be less than requests, nor more than limits",
        ),
        Rule(unchanged("intranet"), "intranet cannot change: delete the job and create it anew"),
        Rule(unchanged("sampleSetRef"), "sampleSetRef cannot change: delete the job and create it anew"),
        *cache_rules(),
        Rule(
            "has(self.elastic) == has(oldSelf.elastic)",
            "a job cannot become elastic, or stop being it: delete the job and create it anew",
        ),
    )

    clean_pod_policy: Annotated[
        CleanPodPolicy | None,
        doc(
            "When to delete the pods of a job that ended: Always, Never, OnFailure (also written OnFailed) or"
            " OnCompletion, which is the default."
        ),
    ] = None
    scheduling_policy: Annotated[
        PaddleSchedulingPolicy | None, doc("How the job is gang-scheduled, where the manager runs with --scheduling.")
    ] = None
    intranet: Annotated[
        Intranet | None,
        doc(
            "How pods reach each other: by a DNS name each (the default), by PodIP, by a Service each, or on the Host's"
            " network."
        ),
    ] = None
    with_gloo: Annotated[
        int | None,
        doc("Gloo in parameter server mode: 0 off, 1 for workers, 2 for workers and servers.", minimum=0, maximum=2),
    ] = None
    sample_set_ref: Annotated[SampleSetReference | None, doc("The cached data set that the job trains on.")] = None
    cache_backend: Annotated[CacheBackendSpec | None, doc("The cached data that the job trains on.")] = None
    ps: Annotated[Role | None, doc("The parameter servers. With them, the job's mode is PS.")] = None
    worker: Annotated[Role | None, doc("The workers. More than one and no ps: the job's mode is Collective.")] = None
    heter: Annotated[Role | None, doc("Workers on other hardware, in parameter server mode.")] = None
    elastic: Annotated[int | None, doc("Any number makes the job elastic: it goes on with more or fewer workers.")] = (
        None
    )
    backoff_limit: Annotated[
        int | None,
        doc(
            "How often the job is started anew, all pods together, after a pod failed (0). If given, also how often a"
            " node may start the containers of a pod again.",
            minimum=0,
            maximum=1000,
        ),
    ] = None
    active_deadline_seconds: Annotated[
        int | None, doc("Fail the job if it is not done so many seconds after it was first seen running.", minimum=1)
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None, doc("Delete the job so many seconds after its end; never if left out.", minimum=0)
    ] = None
    suspend: Annotated[bool | None, doc("Stop all pods until this is false again; they then start anew.")] = None


class RoleStatus(Record, frozen=True):
    """How many pods of a role are in which state, and which pods they are."""

    pending: Annotated[int, doc("Pods not yet on a node, or still pulling images.")] = 0
    starting: Annotated[int, doc("Pods of which a container is not ready yet.")] = 0
    running: Annotated[int, doc("Pods that train.")] = 0
    failed: Annotated[int, doc("Pods that failed.")] = 0
    succeeded: Annotated[int, doc("Pods that ended well.")] = 0
    unknown: Annotated[int, doc("Pods that their node says nothing of.")] = 0
    refs: Annotated[tuple[ObjectReference, ...], doc("The pods; of a large role only the first 500.")] = ()
    completed: Annotated[
        str, doc("The numbers of the pods that ended well, such as 0-3,7: they are not run again, even if deleted.")
    ] = ""


class PaddleJobStatus(Record, frozen=True):
    """What became of the job."""

    phase: Annotated[str, doc("Where the job stands: Pending, Starting, Running, Completed, Failed …")] = ""
    mode: Annotated[str, doc("How its pods train together: PS, Collective or Single.")] = ""
    ps: Annotated[RoleStatus | None, doc("The parameter servers' pods.")] = None
    worker: Annotated[RoleStatus | None, doc("The workers' pods.")] = None
    heter: Annotated[RoleStatus | None, doc("The heter workers' pods.")] = None
    elastic: Annotated[str, doc("What the last change of the number of workers came to.")] = ""
    start_time: Annotated[Timestamp | None, doc("When the job was first seen running.")] = None
    completion_time: Annotated[Timestamp | None, doc("When the job was first seen completed or failed.")] = None
    restarts: Annotated[int, doc("How often the job was started anew after a pod failed.")] = 0
    revision: Annotated[str, doc("What its pods were made from; a hash.")] = ""
    cache_backend_name: Annotated[str, doc("The CacheBackend that it uses.")] = ""
    observed_generation: Annotated[int, doc("The generation of the spec that this status is about.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "Why the job stands where it does.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()


class PaddleJob(Kind, frozen=True):
    """A Paddle training job: with parameter servers, collective, or of a single pod."""

    definition: ClassVar[Definition] = Definition(
        group="batch.paddlepaddle.org",
        version="v1",
        kind="PaddleJob",
        columns=(Column("Status", ".status.phase"), Column("Mode", ".status.mode"), AGE),
        short_names=("pdj",),
        rules=(*service_name(LONGEST_NAME), *own_cache_rules()),
    )

    spec: Annotated[PaddleJobSpec, doc("The job that is wanted.")]
    status: Annotated[PaddleJobStatus | None, doc("What became of it; written by the operator.")] = None
