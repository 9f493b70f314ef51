"""What the servers of a set are told for a SampleJob: which of them, under which id, and in which words."""

import msgspec

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.samplejob import (
    PartitionResult,
    SampleJob,
    SampleJobStatus,
    SampleJobType,
    WarmupOptions,
    WarmupStrategy,
)
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.samplejob.snapshot import Snapshot
from paddle_operator.desired.sampleset.naming import digest, pod_name
from paddle_operator.desired.sampleset.servers import CACHE_DIRECTORY
from paddle_operator.desired.sampleset.sources import named, unmounted

# These are about the data, which is the same behind every server; the others about caches, of which each has its own.
OF_FIRST_SERVER = (SampleJobType.SYNC, SampleJobType.RMR)


def own_prefix(job: SampleJob) -> str:
    """Begin the ids of all that is ever ordered for this very job."""
    return f"{job.metadata.name}-{digest(job.metadata.uid)[:8]}-"


def job_name(job: SampleJob) -> str:
    """Name the work: other options are other work, and the same work is never given twice."""
    spec = job.spec
    options = (spec.sync_options, spec.warmup_options, spec.rmr_options, spec.clear_options, spec.secret_ref)
    return f"{own_prefix(job)}{digest(spec.type, msgspec.json.encode(options))[:8]}"


def operation_id(status: SampleJobStatus, partition: int) -> str:
    """Name a server's part of a try.

    A node may know what another partition's server did on it; and options that are put back are work that begins anew.
    """
    begun = int(status.start_time.timestamp()) if status.start_time else 0
    return f"{status.job_name}-{begun:x}-{partition}-{status.retries}"


def targets(snapshot: Snapshot) -> tuple[PartitionResult, ...]:
    """Choose the servers, for good: whoever comes later has no part in this job."""
    sample_set = snapshot.sample_set
    if sample_set is None:
        return ()
    number = 1 if snapshot.job.spec.type in OF_FIRST_SERVER else sample_set.spec.partitions
    return tuple(PartitionResult(pod_name(sample_set, partition), partition) for partition in range(number))


def secret_of(job: SampleJob) -> Key | None:
    """Name the Secret of a sync's keys."""
    reference = job.spec.secret_ref
    if job.spec.type is not SampleJobType.SYNC or reference is None:
        return None
    return Key(reference.namespace or job.metadata.namespace, reference.name)


def order(snapshot: Snapshot, partition: int, partitions: int) -> Manifest:
    """Say it as the servers' interface has it."""
    spec = snapshot.job.spec
    match spec.type:
        case SampleJobType.SYNC:
            options: Manifest = msgspec.to_builtins(spec.sync_options) if spec.sync_options else {}
            own = {} if options.get("source") else own_source(snapshot.sample_set)
            return {"type": "sync", **own, **options}
        case SampleJobType.WARMUP:
            return {"type": "warmup", **warm_up(spec.warmup_options or WarmupOptions(), partition, partitions)}
        case SampleJobType.RMR:
            return {"type": "rmr", "paths": list(spec.rmr_options.paths if spec.rmr_options else ())}
        case SampleJobType.CLEAR:
            paths = spec.clear_options.paths if spec.clear_options else ()
            return {"type": "clear", **({"paths": inside(paths, snapshot.caches)} if paths else {})}


def own_source(sample_set: SampleSet | None) -> Manifest:
    """Copy what the set itself is made of, if nothing else is asked for; of several, one must be named."""
    found = named(sample_set) if sample_set is not None else ()
    if len(found) != 1:
        return {}
    return {"source": found[0].uri, **({"destination": found[0].path} if found[0].path else {})}


def warm_up(options: WarmupOptions, partition: int, partitions: int) -> Manifest:
    paths = () if options.file else options.paths
    given = {"file": options.file, "threads": options.threads, "paths": list(paths)}
    share: Manifest = {"partition": partition, "partitions": partitions, "strategy": options.strategy_name.value}
    if options.sampler is not None:
        share["sampler"] = msgspec.to_builtins(options.sampler)
    return {**{name: value for name, value in given.items() if value}, "share": share}


def inside(paths: tuple[str, ...], caches: tuple[str, ...]) -> list[str]:
    """Give the servers' own names of the caches that are at these paths of a node, or below them."""
    asked = [path.removesuffix("*").rstrip("/") for path in paths]
    names = {f"{CACHE_DIRECTORY}/{number}": f"{path}/" for number, path in enumerate(caches)}
    return [
        name for name, cache in names.items() if any(cache.startswith(f"{path}/") or name == path for path in asked)
    ]


def problem(snapshot: Snapshot) -> str:
    """Say why nothing can come of it; what else is wrong with an order, the servers say."""
    spec = snapshot.job.spec
    if spec.type is SampleJobType.RMR and spec.rmr_options is None:
        return "a job of type rmr needs rmrOptions.paths: what to remove"
    if spec.type is SampleJobType.SYNC and (why := _sourceless(snapshot)):
        return f"{why}: say in syncOptions.source what to copy"
    if spec.type is SampleJobType.CLEAR and spec.clear_options is not None:
        none = [path for path in spec.clear_options.paths if not inside((path,), snapshot.caches)]
        if none:
            return f"there is no cache of the SampleSet at {none[0]}: there are {', '.join(snapshot.caches)}"
    options = spec.warmup_options or WarmupOptions()
    if (options.strategy_name is WarmupStrategy.SAMPLER) != (options.sampler is not None):
        return "strategyName: sampler and warmupOptions.sampler need each other"
    return ""


def _sourceless(snapshot: Snapshot) -> str:
    """Say why there is nothing that a sync could copy."""
    options, sample_set = snapshot.job.spec.sync_options, snapshot.sample_set
    if (options and options.source) or sample_set is None:
        return ""
    if len(named(sample_set)) != 1:
        return "the SampleSet has not exactly one source of its own"
    if uri := unmounted(sample_set):
        return f"the SampleSet has noSync: true, so that its servers do not mount {uri}"
    return ""
