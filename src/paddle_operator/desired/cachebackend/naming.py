"""Which cache a job uses: the one that it names, or one of its own."""

from paddle_operator.api.cachebackend import CacheBackendSpec
from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of

UID_CHARACTERS = 5


def cache_name(spec: CacheBackendSpec, job: str, uid: str) -> str:
    return spec.name or own_name(job, uid)


def own_name(job: str, uid: str) -> str:
    """Name the cache of a job that names none; another job of that name gets another."""
    return f"cache-{job}-{uid[:UID_CHARACTERS]}"


def cache_of(job: Manifest) -> Key | None:
    """Give the cache that a job of any kind asks for, as it was stored; nothing if it asks for none."""
    spec = (job.get("spec") or {}).get("cacheBackend")
    if not isinstance(spec, dict):
        return None
    key = key_of(job)
    return Key(key.namespace, spec.get("name") or own_name(key.name, uid_of(job)))
