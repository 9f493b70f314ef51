"""A cache in a job's pods: its claim in every container, its name in their environment, pods where it is cached."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import ENV_CACHE_NAME, VOLUME_CACHE
from paddle_operator.desired.training.placement import cached_here, near_data, preferring, with_data
from paddle_operator.desired.training.supply import Supply, runs_without_cache

GROUPS = ("containers", "initContainers")


def supplied(spec: Manifest, supply: Supply, worker: int | None) -> Manifest:
    """Give the pod's spec with all data that the job asks for; `worker` is its number among those that read most."""
    spec = with_cache(spec, supply, worker)
    reference, found = supply.sample_set_ref, supply.sample_set
    if reference is None:
        return spec
    spec = with_data(spec, reference)
    return spec if found is None or worker is None else near_data(spec, worker, reference, found)


def with_cache(spec: Manifest, supply: Supply, worker: int | None) -> Manifest:
    """Follow from the job's spec alone, so that pods made late or made anew have it as well."""
    if supply.cache_spec is None or not supply.cache_spec.mount_path or runs_without_cache(supply):
        return spec
    volumes: list[Manifest] = spec.get("volumes") or []
    volume = free_name({str(found.get("name")) for found in volumes})
    mount = {"name": volume, "mountPath": supply.cache_spec.mount_path}
    name = supply.cache_name
    made = {
        **spec,
        "volumes": [*volumes, {"name": volume, "persistentVolumeClaim": {"claimName": name}}],
        **{
            group: [equipped(container, mount, name) for container in spec[group]]
            for group in GROUPS
            if spec.get(group)
        },
    }
    near = nearness(supply, worker)
    return made if near is None else preferring(made, near)


def equipped(container: Manifest, mount: Manifest, cache: str) -> Manifest:
    """Add the mount and the variable, unless the user has either."""
    mounts, env = container.get("volumeMounts") or [], container.get("env") or []
    paths = {str(found.get("mountPath")).rstrip("/") for found in mounts}
    named = any(found.get("name") == ENV_CACHE_NAME for found in env)
    return {
        **container,
        "volumeMounts": mounts if mount["mountPath"].rstrip("/") in paths else [*mounts, mount],
        "env": env if named else [*env, {"name": ENV_CACHE_NAME, "value": cache}],
    }


def free_name(taken: set[str]) -> str:
    names = (VOLUME_CACHE, *(f"{VOLUME_CACHE}-{number}" for number in range(1, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def nearness(supply: Supply, worker: int | None) -> Manifest | None:
    """Say where the data is cached: on the nodes that Fluid labels, or worker i with partition i."""
    namespace, name, cache = supply.job.metadata.namespace, supply.cache_name, supply.cache
    engine = cache.spec.cache_engine if cache is not None else None
    if engine is not None and engine.juicefs is not None and worker is not None:
        return cached_here(namespace, name, worker) if worker < engine.juicefs.replicas else None
    label = cache.status.node_label if cache is not None and cache.status is not None else ""
    return {"key": label, "operator": "In", "values": ["true"]} if label else None
