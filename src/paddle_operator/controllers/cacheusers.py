"""The jobs that use a CacheBackend now, of whichever kind; those that only wait for it are among them."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from paddle_operator.api import names
from paddle_operator.api.cachebackend import CacheBackend, CacheUser
from paddle_operator.api.conditions import conditions_of
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.controller import World
from paddle_operator.controllers.kinds import CACHE_BACKENDS, PADDLE_JOBS, PYTORCH_JOBS, TF_JOBS
from paddle_operator.desired.cachebackend.naming import cache_of
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


def observe_users(world: World, cache: Key) -> tuple[CacheUser, ...]:
    """Look at what the watches brought."""
    found = ((kind, job) for kind in JOBS if kind in world.stores for job in world.stores[kind].find(CACHE, str(cache)))
    return tuple(_users(found))


async def ask_for_users(world: World, cache: Key) -> tuple[CacheUser, ...]:
    """Ask the API server itself: a watch may be late, and who is about to delete must know."""
    found: list[tuple[Kind, Manifest]] = []
    for kind in JOBS:
        try:
            listing = await world.client.list(Scope(kind, cache.namespace))
        except errors.NotFoundError:
            continue  # the cluster has no jobs of this kind
        found += [(kind, job) for job in listing.items if cache_of(job) == cache]
    return tuple(_users(found))


def _users(jobs: Iterable[tuple[Kind, Manifest]]) -> Iterator[CacheUser]:
    for kind, job in jobs:
        if not JOBS[kind](job):
            yield CacheUser(kind.kind, key_of(job).name, uid_of(job))


def decode(observed: Manifest) -> CacheBackend:
    """Read the cache; a status that nobody can read counts as none."""
    whole = {**observed, **CACHE_BACKENDS.identity}
    try:
        return msgspec.convert(whole, CacheBackend)
    except msgspec.ValidationError:
        return msgspec.convert({**whole, "status": None}, CacheBackend)
