"""Every label, annotation, finalizer, field manager and condition reason that we write or look for."""

import hashlib

MANAGER = "paddle-operator"

# Groups and versions.
BATCH_V1 = "batch.paddlepaddle.org/v1"
BATCH_V1ALPHA1 = "batch.paddlepaddle.org/v1alpha1"
CACHE_V1ALPHA1 = "cache.kubedl.io/v1alpha1"
TRAINING_V1ALPHA1 = "training.kubedl.io/v1alpha1"

# Says on an object what we applied last; a hash.
ANNOTATION_APPLIED = "batch.paddlepaddle.org/applied"

# Labels and annotations of a PaddleJob's pods, services and config map.
LABEL_RESOURCE_NAME = "paddle-res-name"
LABEL_RESOURCE_TYPE = "paddle-res-type"
ANNOTATION_ROLE = "paddle-resource"
ANNOTATION_HOST_PORT = "host-port"
ANNOTATION_TEMPLATE_HASH = "paddlepaddle.org/template-hash"
ANNOTATION_ATTEMPT = "batch.paddlepaddle.org/attempt"
LABEL_PADDLEJOB = "batch.paddlepaddle.org/job"

# Volcano's, on pods that are scheduled together.
ANNOTATION_POD_GROUP = "scheduling.k8s.io/group-name"
ANNOTATION_VOLCANO_TASK = "volcano.sh/task-spec"
ANNOTATION_VOLCANO_JOB = "volcano.sh/job-name"
ANNOTATION_VOLCANO_JOB_VERSION = "volcano.sh/job-version"
ANNOTATION_VOLCANO_QUEUE = "volcano.sh/queue-name"

# What a SampleSet's objects have.
ANNOTATION_CREATED_BY = "CreatedBy"
LABEL_SAMPLESET_PREFIX = "paddlepaddle.org/juicefs-"
LABEL_SAMPLESET = "batch.paddlepaddle.org/sampleset"
LABEL_SAMPLESET_NAMESPACE = "batch.paddlepaddle.org/sampleset-namespace"
LABEL_SAMPLESET_UID = "batch.paddlepaddle.org/sampleset-uid"
ANNOTATION_SECRET_VERSION = "batch.paddlepaddle.org/secret-version"  # noqa: S105  # a word, not a secret
LABEL_SAMPLEJOB = "batch.paddlepaddle.org/samplejob"
ANNOTATION_SCHEDULED = "batch.paddlepaddle.org/scheduled"
STORAGE_CLASS = "paddle-operator"
CSI_DRIVER = "csi.juicefs.com"

# Labels of a TFJob's or PyTorchJob's pods and services.
LABEL_GROUP = "group-name"
LABEL_JOB = "job-name"
LABEL_REPLICA_TYPE = "replica-type"
LABEL_REPLICA_INDEX = "replica-index"
LABEL_JOB_ROLE = "job-role"
LABEL_GANG_JOB = "kubedl.io/gang-job-name"
LABEL_CRON = "kubedl.io/cron-name"
ANNOTATION_NETWORK_MODE = "kubedl.io/network-mode"
ANNOTATION_LAST_FAILOVER = "kubedl.io/last-failover-timestamp"
ANNOTATION_GIT_SYNC = "kubedl.io/git-sync-config"
ANNOTATION_TENSORBOARD = "kubedl.io/tensorboard-config"
ANNOTATION_ELASTIC = "kubedl.io/enable-elastic-training"

# The cache in a job's pods.
VOLUME_CACHE = "cachevolume"
ENV_CACHE_NAME = "KUBEDL_CACHE_NAME"
# Says on a cache which job came last to use it: whoever is about to delete the cache then does not.
ANNOTATION_CACHE_CLAIM = "cache.kubedl.io/claimed-by"

# What Fluid writes on what it makes.
FLUID_CREATED_BY = "fluid"
LABEL_FLUID_DATASET = "fluid.io/dataset-id"

# Finalizers, also those that the original operators left on their objects.
FINALIZER_PADDLEJOB = "finalizers.paddlepaddle.org"
FINALIZER_SAMPLESET_PREFIX = "paddlepaddle.org/sampleset-"
FINALIZER_SAMPLEJOB_PREFIX = "paddlepaddle.org/samplejob-"
FINALIZER_CACHEBACKEND = "cache.kubedl.io/in-use"

# Types of conditions.
CONDITION_READY = "Ready"
CONDITION_CREATED = "Created"
CONDITION_QUEUING = "Queuing"
CONDITION_RUNNING = "Running"
CONDITION_RESTARTING = "Restarting"
CONDITION_SUCCEEDED = "Succeeded"
CONDITION_FAILED = "Failed"
CONDITION_DATA_READY = "DataReady"
CONDITION_CACHE_READY = "CacheReady"
CONDITION_SYNCED = "Synced"
CONDITION_WARM = "Warm"
CONDITION_IN_USE = "InUse"
CONDITION_SCHEDULED = "Scheduled"

# Reasons of training jobs' conditions.
REASON_JOB_CREATED = "JobCreated"
REASON_JOB_ENQUEUED = "JobEnqueued"
REASON_JOB_DEQUEUED = "JobDequeued"
REASON_JOB_RUNNING = "JobRunning"
REASON_JOB_RESTARTING = "JobRestarting"
REASON_JOB_SUCCEEDED = "JobSucceeded"
REASON_JOB_FAILED = "JobFailed"
REASON_JOB_EVICTED = "JobEvicted"

# Reasons of a SampleSet's and a SampleJob's events and conditions.
REASON_DRIVER_NOT_EXIST = "ErrorDriverNotExist"
REASON_SECRET_NOT_EXIST = "ErrorSecretNotExist"  # noqa: S105  # a word, not a secret
REASON_CREATE_SYNC_JOB_FAILED = "ErrorCreateSyncJob"
REASON_CREATE_SYNC_JOB = "CreateSyncJobSuccessfully"
REASON_SYNC_JOB_FAILED = "ErrorDoSyncJob"
REASON_SYNC_JOB_SUCCEEDED = "DoSyncJobSuccessfully"
REASON_NO_SYNC = "NoSync"
REASON_SYNC_WAITING = "WaitingForRuntime"
REASON_SYNCING = "Syncing"
REASON_BINDING = "Binding"
REASON_CLAIM_DELETED = "ClaimDeleted"
REASON_STARTING = "RuntimeStarting"
REASON_UNREACHABLE = "RuntimeUnreachable"
REASON_SCALING = "Scaling"
REASON_WARMING = "WarmingUp"
REASON_WARMUP_FAILED = "WarmupFailed"
REASON_WARM = "WarmedUp"
REASON_PARTLY_WARM = "PartlyWarmedUp"
REASON_EMPTIED = "Emptied"
REASON_CACHES_LEFT = "CachesLeft"
REASON_READY = "Ready"
REASON_IN_USE = "InUse"
REASON_UNUSED = "Unused"

# Reasons of a SampleJob's conditions and events; those of its turns are made by `samplejob_reason`.
REASON_SAMPLESET_NOT_EXIST = "ErrorSampleSetNotExist"
REASON_WAITING_FOR_SAMPLESET = "WaitingForSampleSet"
REASON_IN_QUEUE = "InQueue"
REASON_GIVEN = "GivenToServers"
REASON_RUNNING = "Running"
REASON_RETRYING = "Retrying"
REASON_TERMINATED = "Terminated"
REASON_SCHEDULED = "Scheduled"
REASON_UNKNOWN_TIME_ZONE = "UnknownTimeZone"
REASON_RUN_STARTED = "SuccessfulCreate"
REASON_RUN_MISSED = "MissSchedule"
REASON_RUN_STILL_ACTIVE = "JobAlreadyActive"
REASON_RUNS_WAIT = "TooManyRunsWait"

# Reasons of a PaddleJob's conditions and events.
REASON_SUSPENDED = "Suspended"
REASON_RESTARTING = "Restarting"
REASON_TERMINATING = "Terminating"
REASON_WAITING_FOR_DATA = "WaitingForData"
REASON_DATA_READY = "SampleSetReady"
REASON_DATA_TIMEOUT = "SampleSetTimeout"
REASON_QUEUING = "Queuing"
REASON_PODS_PENDING = "PodsPending"
REASON_PODS_STARTING = "PodsStarting"
REASON_PODS_RUNNING = "PodsRunning"
REASON_POD_FAILED = "PodFailed"
REASON_BACKOFF_LIMIT = "BackoffLimitExceeded"
REASON_DEADLINE = "DeadlineExceeded"
REASON_COMPLETED = "WorkersSucceeded"
REASON_SCALED = "Scaled"
REASON_OLD_WORD = "OldWord"
REASON_NO_EFFECT = "NoEffect"
REASON_NO_HOST_PORT = "NoHostPort"
REASON_NO_GANGS = "NoGangScheduling"
REASON_NO_ETCD = "NoEtcdServer"
REASON_TOO_LARGE = "TooLarge"

# Reasons of a CacheBackend's conditions and events, and of jobs that wait for one.
REASON_NO_ENGINE = "EngineMissing"
REASON_ENGINE_FAILED = "EngineFailed"
REASON_WAITING_FOR_ENGINE = "WaitingForEngine"
REASON_CREATING = "Creating"
REASON_CACHE_TIMEOUT = "CacheTimeout"
REASON_CACHE_READY = "CacheReady"
REASON_WAITING_FOR_CACHE = "WaitingForCache"
REASON_CACHE_FAILED = "CacheFailed"
REASON_CACHE_CONFLICT = "CacheConflict"
REASON_RUNS_WITHOUT_CACHE = "RunsWithoutCache"

# Reasons of any kind's conditions.
REASON_FORBIDDEN = "Forbidden"
REASON_NAME_TAKEN = "NameTaken"
REASON_INVALID = "Invalid"
REASON_NOT_OURS = "NotOurs"


def sampleset_label(sampleset: str) -> str:
    """Name the label of a SampleSet's objects, and of nodes that cache one of this name, in whichever namespace."""
    return LABEL_SAMPLESET_PREFIX + sampleset


def sampleset_node_label(namespace: str, sampleset: str) -> str:
    """Name the label of the nodes that cache this very SampleSet."""
    digest = hashlib.sha256(f"{namespace}/{sampleset}".encode()).hexdigest()[:8]
    return f"{LABEL_SAMPLESET_PREFIX}{sampleset}-{digest}"


def sampleset_finalizer(sampleset: str) -> str:
    return FINALIZER_SAMPLESET_PREFIX + sampleset


def samplejob_finalizer(samplejob: str) -> str:
    return FINALIZER_SAMPLEJOB_PREFIX + samplejob


def samplejob_reason(turn: str, type_: str) -> str:
    """Give the original operator's word for a turn of a job: CreateSyncJobSuccessfully, ErrorDoSyncJob."""
    job = f"{type_.capitalize()}Job"
    return {"created": f"Create{job}Successfully", "done": f"Do{job}Successfully", "failed": f"ErrorDo{job}"}[turn]
