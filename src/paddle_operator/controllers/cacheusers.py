"""The jobs that use a CacheBackend now, of whichever kind; those that only wait for it are among them."""

from collections.abc import Callable, Iterable

import msgspec

from paddle_operator.api import names
from paddle_operator.api.cachebackend import CacheBackend, CacheUser
from paddle_operator.api.conditions import conditions_of
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.api.training import TrainingJobStatus
from paddle_operator.control.controller import World
from paddle_operator.controllers.kinds import CACHE_BACKENDS, PADDLE_JOBS, PYTORCH_JOBS, TF_JOBS
from paddle_operator.controllers.users import has_pods, is_active, status_of
from paddle_operator.desired.cachebackend.naming import cache_of
from paddle_operator.desired.kubedl import snapshot as kubedl
from paddle_operator.desired.paddlejob import snapshot as paddlejob
from paddle_operator.desired.paddlejob.state import ENDED
from paddle_operator.kube import errors
from paddle_operator.kube.request import Kind, Scope

CACHE = "cachebackend"
OVER = (names.CONDITION_SUCCEEDED, names.CONDITION_FAILED)


def is_phase_over(job: Manifest) -> bool:
    return (job.get("status") or {}).get("phase") in ENDED


def is_condition_over(job: Manifest) -> bool:
    return any(found.type in OVER and found.status == "True" for found in conditions_of(job))


JOBS: dict[Kind, Callable[[Manifest], bool]] = {
    TF_JOBS: is_condition_over,
    PYTORCH_JOBS: is_condition_over,
    PADDLE_JOBS: is_phase_over,
}


def caches_of_job(job: Manifest) -> Iterable[Key]:
    key = cache_of(job)
    return () if key is None else (key,)


def by_cache(job: Manifest) -> Iterable[str]:
    return (str(key) for key in caches_of_job(job))


Job = tuple[Kind, Manifest]


def observe_jobs(world: World, cache: Key) -> list[Job]:
    """Look at what the watches brought."""
    kinds = [kind for kind in JOBS if kind in world.stores]
    return [(kind, job) for kind in kinds for job in world.stores[kind].find(CACHE, str(cache))]


async def ask_for_jobs(world: World, cache: Key) -> list[Job]:
    """Ask the API server itself: a watch may be late, and who is about to delete must know."""
    found: list[Job] = []
    for kind in JOBS:
        try:
            listing = await world.client.list(Scope(kind, cache.namespace))
        except errors.NotFoundError:
            continue  # the cluster has no jobs of this kind
        found += [(kind, job) for job in listing.items if cache_of(job) == cache]
    return found


def users_of(jobs: Iterable[Job]) -> tuple[CacheUser, ...]:
    live = ((kind, job) for kind, job in jobs if not JOBS[kind](job))
    return tuple(CacheUser(kind.kind, key_of(job).name, uid_of(job)) for kind, job in live)


def holders_of(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Name those that read; who is being deleted itself holds nothing, since it may wait for the cache to go."""
    return tuple(
        f"{kind.kind} {key_of(job).name}"
        for kind, job in jobs
        if not JOBS[kind](job) and "deletionTimestamp" not in job["metadata"] and reads(kind, job)
    )


def reads(kind: Kind, job: Manifest) -> bool:
    """Tell whether its pods read, or others will in their place: such a job starts them with a cache that is going."""
    if any(found.reason == names.REASON_RUNS_WITHOUT_CACHE for found in conditions_of(job)):
        return False
    if kind == PADDLE_JOBS:
        paddle = status_of(job, PaddleJobStatus)
        return has_pods(paddle) or paddlejob.goes_on(paddle)
    training = status_of(job, TrainingJobStatus)
    return is_active(training) or kubedl.goes_on(training)


def decode(observed: Manifest) -> CacheBackend:
    """Read the cache; a status that nobody can read counts as none."""
    whole = {**observed, **CACHE_BACKENDS.identity}
    try:
        return msgspec.convert(whole, CacheBackend)
    except msgspec.ValidationError:
        return msgspec.convert({**whole, "status": None}, CacheBackend)
