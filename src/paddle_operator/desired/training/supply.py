"""The data that a job waits for, a SampleSet or a CacheBackend: whether it is there, and what is done without it."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from paddle_operator.api import names
from paddle_operator.api.cachebackend import (
    CacheBackend,
    CacheBackendSpec,
    CacheBackendStatus,
    CacheBackendStatusWord,
    CacheOptions,
    OnCacheFailure,
)
from paddle_operator.api.conditions import condition, find
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.references import SampleSetReference
from paddle_operator.api.sampleset import SampleSet, SampleSetPhase
from paddle_operator.desired.cachebackend.naming import cache_name
from paddle_operator.desired.moments import after
from paddle_operator.desired.ownership import owner_of
from paddle_operator.desired.telling import Refusal
from paddle_operator.desired.training.observedpod import ObservedPod, claims_of


@dataclass(frozen=True)
class Supply:
    """What a job asks for, and what was seen of it.

    `known` are the job's conditions as they were last written. `has_run`: it goes on while a cache node is away.
    `pods` are the job's: what they have or lack, others made beside them have or lack too. `goes_on`: it has begun, and
    a cache that is being deleted waits for it. `claimed` is the cache that knows already of the job.
    """

    job: Kind
    now: datetime
    known: tuple[Condition, ...] = ()
    has_run: bool = False
    pods: tuple[ObservedPod, ...] = ()
    goes_on: bool = False
    claimed: str = ""
    sample_set_ref: SampleSetReference | None = None
    sample_set: SampleSet | None = None
    cache_spec: CacheBackendSpec | None = None
    cache: CacheBackend | None = None

    @property
    def cache_name(self) -> str:
        """Name the cache that the job asks for; nothing if it asks for none."""
        own = self.job.metadata
        return "" if self.cache_spec is None else cache_name(self.cache_spec, own.name, own.uid)


def conditions(supply: Supply) -> tuple[Condition, ...]:
    """Say whether the data is there; nothing for a job that asks for none."""
    return tuple(found for found in (_sample_set(supply), cache_condition(supply)) if found is not None)


def lack(supply: Supply) -> Condition | None:
    """Say for what the job has to wait."""
    found = (one for one in conditions(supply) if one.status == "False" and not _is_done_without(one))
    return next(found, None)


def runs_without_cache(supply: Supply) -> bool:
    found = cache_condition(supply)
    return found is not None and _is_done_without(found)


def failure(supply: Supply) -> Refusal | None:
    """Say why the job gives up waiting; nothing if it does not."""
    waits, told = deadline(supply), lack(supply)
    if told is None:
        return None
    if told.reason == names.REASON_CACHE_FAILED and _choice(supply) is OnCacheFailure.FAIL:
        return Refusal(names.REASON_CACHE_FAILED, told.message)
    if waits is None or waits > supply.now or supply.sample_set_ref is None or told.type != names.CONDITION_DATA_READY:
        return None
    message = f"{told.message}; it was waited for {supply.sample_set_ref.timeout_seconds} seconds"
    return Refusal(names.REASON_DATA_TIMEOUT, message)


def deadline(supply: Supply) -> datetime | None:
    """Count from the time at which the wait began, which only the condition remembers."""
    reference = supply.sample_set_ref
    if reference is None or reference.timeout_seconds is None:
        return None
    known = find(supply.known, names.CONDITION_DATA_READY)
    began = None if known is None or known.status != "False" else known.last_transition_time
    return after(began or supply.now, reference.timeout_seconds)


def _sample_set(supply: Supply) -> Condition | None:
    reference = supply.sample_set_ref
    if reference is None:
        return None
    if supply.sample_set is None:
        return _missing(f"there is no SampleSet {reference.name} in namespace {supply.job.metadata.namespace}")
    phase = (supply.sample_set.status.phase if supply.sample_set.status else "") or "not begun"
    enough = [SampleSetPhase.READY.value]
    if supply.has_run:
        enough.append(SampleSetPhase.PARTIAL_READY.value)
    if phase not in enough:
        return _missing(f"SampleSet {reference.name} is not Ready yet, it is {phase}")
    message = f"SampleSet {reference.name} is {phase}"
    return condition(names.CONDITION_DATA_READY, names.REASON_DATA_READY, message, holds=True)


def _missing(message: str) -> Condition:
    return condition(names.CONDITION_DATA_READY, names.REASON_WAITING_FOR_DATA, message, holds=False)


def cache_condition(supply: Supply) -> Condition | None:
    if supply.cache_spec is None:
        return None
    name = supply.cache_name
    if _began_without(supply):
        return _done_without(supply)
    if supply.cache is None:
        inline = supply.cache_spec.cache_engine is not None
        words = "is being made" if inline else f"is not in namespace {supply.job.metadata.namespace}: create it"
        return _told(names.REASON_WAITING_FOR_CACHE, f"CacheBackend {name} {words}")
    if _conflicts(supply, supply.cache):
        words = f"CacheBackend {name} caches other data than the job describes: give the job's cache another name"
        return _told(names.REASON_CACHE_CONFLICT, words)
    return _standing(supply, supply.cache.status or CacheBackendStatus())


def _standing(supply: Supply, status: CacheBackendStatus) -> Condition:
    name = supply.cache_name
    why = find(status.conditions, names.CONDITION_READY)
    words = f"CacheBackend {name} is {status.cache_status or 'not begun'}" + (f": {why.message}" if why else "")
    is_going = supply.cache is not None and supply.cache.metadata.deletion_timestamp is not None
    if is_going and not supply.goes_on:
        return _told(names.REASON_WAITING_FOR_CACHE, f"CacheBackend {name} is being deleted")
    if status.cache_status == CacheBackendStatusWord.PVC_CREATED:
        return condition(names.CONDITION_CACHE_READY, names.REASON_CACHE_READY, words, holds=True)
    if status.cache_status != CacheBackendStatusWord.CACHE_FAILED:
        return _told(names.REASON_WAITING_FOR_CACHE, words)
    if _choice(supply) is OnCacheFailure.RUN_WITHOUT and not supply.pods:
        return _told(names.REASON_RUNS_WITHOUT_CACHE, f"{words}; the job runs without it, as onCacheFailure asks")
    return _told(names.REASON_CACHE_FAILED, words)


def _began_without(supply: Supply) -> bool:
    """Tell it by the pods: pods of one job that have the data and pods that lack it would train on different things."""
    may = _choice(supply) is OnCacheFailure.RUN_WITHOUT and bool(supply.pods)
    return may and not any(supply.cache_name in claims_of(pod) for pod in supply.pods)


def _done_without(supply: Supply) -> Condition:
    """Keep the words that say why it was so decided."""
    known = find(supply.known, names.CONDITION_CACHE_READY)
    if known is not None and _is_done_without(known):
        return known
    words = f"the job's pods were made without CacheBackend {supply.cache_name}, as onCacheFailure asks"
    return _told(names.REASON_RUNS_WITHOUT_CACHE, words)


def _told(reason: str, message: str) -> Condition:
    return condition(names.CONDITION_CACHE_READY, reason, message, holds=False)


def _is_done_without(found: Condition) -> bool:
    return found.reason == names.REASON_RUNS_WITHOUT_CACHE


def _choice(supply: Supply) -> OnCacheFailure | None:
    return supply.cache_spec.on_cache_failure if supply.cache_spec is not None else None


def _conflicts(supply: Supply, cache: CacheBackend) -> bool:
    """Tell whether the job describes other data than the cache of that name has."""
    described = supply.cache_spec.dataset if supply.cache_spec is not None else None
    return described is not None and cache.spec.dataset is not None and described != cache.spec.dataset


def cache_object(supply: Supply) -> Manifest | None:
    """Give the cache that the job describes, where there is none; without a name it is the job's, and goes with it."""
    spec = supply.cache_spec
    if spec is None or supply.cache is not None or spec.cache_engine is None:
        return None
    owners = {} if spec.name else {"ownerReferences": [owner_of(supply.job)]}
    metadata = {"name": supply.cache_name, "namespace": supply.job.metadata.namespace, **owners}
    return {"metadata": metadata, "spec": msgspec.json.decode(msgspec.json.encode(spec))}


def claim(supply: Supply) -> Manifest:
    """Give what is written on a cache before its first use, so that nobody deletes it as idle at the same moment."""
    cache, job = supply.cache, supply.job
    if cache is None or supply.claimed == supply.cache_name or cache.metadata.deletion_timestamp is not None:
        return {}
    if not (cache.spec.options or CacheOptions()).idle_time:
        return {}  # nobody ever deletes it as idle
    who = f"{job.definition.kind}/{job.metadata.name}/{job.metadata.uid}"
    key = {"name": cache.metadata.name, "namespace": cache.metadata.namespace}
    return {"metadata": {**key, "annotations": {names.ANNOTATION_CACHE_CLAIM: who}}}
