"""A cache on Fluid: its Dataset, its runtime and its preload, as the CacheBackend describes them."""

import re
from dataclasses import replace

from paddle_operator.api import names
from paddle_operator.api.cachebackend import (
    LONGEST_NAME,
    AlluxioRuntime,
    CacheBackend,
    CacheOptions,
    DataSource,
    Preload,
    TieredStorage,
)
from paddle_operator.api.manifest import Manifest, annotations_of, labels_of, uid_of
from paddle_operator.api.names import LABEL_FLUID_DATASET
from paddle_operator.desired import quantities
from paddle_operator.desired.cachebackend.engine import Parts, Piece, Pieces, Progress
from paddle_operator.engines.fluid import reading

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
SHORTEST_MOUNT_POINT = 5
LONGEST_LABEL = 63
NODE_LABEL = "fluid.io/s-"
# Either says which file system it is.
JUICEFS_KEYS = {"metaurl", "token"}


class Fluid:
    missing = "install Fluid, or cache with cacheEngine.juicefs, which needs nothing else"

    def problem(self, cache: CacheBackend) -> str:
        name, runtime = cache.metadata.name, runtime_of(cache)
        if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
            return f"Fluid needs a name of at most {LONGEST_NAME} letters, digits and dashes that begins with a letter"
        if runtime is None:
            return "fluid must have exactly one runtime: give alluxioRuntime or juicefsRuntime"
        bad = (why for why in map(_problem_of_source, sources_of(cache)) if why)
        levels = (why for why in map(_problem_of_level, runtime[1].tiered_storage) if why)
        return next(bad, "") or next(levels, "") or _problem_of_juicefs(cache, runtime[0])

    def objects(self, cache: CacheBackend) -> Pieces:
        runtime = runtime_of(cache)
        if runtime is None:
            return ()
        loads = ((Piece.DATA_LOAD, data_load(cache)),) if preload_of(cache) is not None else ()
        return (Piece.DATASET, dataset(cache)), (runtime[0], runtime_object(cache, runtime[1])), *loads

    def owns(self, cache: CacheBackend, claim: Manifest, parts: Parts) -> bool:
        """Go by what Fluid writes on its claims; older ones have no label. The runtime's outlives a deleted Dataset."""
        made, runtime = parts.get(Piece.DATASET), runtime_of(cache)
        if annotations_of(claim).get(names.ANNOTATION_CREATED_BY) != names.FLUID_CREATED_BY:
            return False
        told, served = labels_of(claim).get(LABEL_FLUID_DATASET), runtime is not None and runtime[0] in parts
        if made is not None and told in (None, dataset_id(cache, made)):
            return True
        return served and (told in (None, label_of(cache)) or len(label_of(cache)) >= LONGEST_LABEL)

    def progress(self, cache: CacheBackend, parts: Parts) -> Progress:
        runtime = runtime_of(cache)
        shown = parts.get(runtime[0]) if runtime is not None else None
        made = parts.get(Piece.DATASET) or {}
        told = replace(reading.progress(made, shown or {}), node_label=node_label(cache, made))
        preload = preload_of(cache)
        return told if preload is None else reading.preloaded(told, parts.get(Piece.DATA_LOAD) or {}, preload.wait_for)


def runtime_of(cache: CacheBackend) -> tuple[Piece, AlluxioRuntime] | None:
    engine = cache.spec.cache_engine
    fluid = engine.fluid if engine is not None else None
    if fluid is None or (fluid.alluxio_runtime is None) == (fluid.juicefs_runtime is None):
        return None
    if fluid.alluxio_runtime is not None:
        return Piece.ALLUXIO_RUNTIME, fluid.alluxio_runtime
    return None if fluid.juicefs_runtime is None else (Piece.JUICEFS_RUNTIME, fluid.juicefs_runtime)


def sources_of(cache: CacheBackend) -> tuple[DataSource, ...]:
    return cache.spec.dataset.data_sources if cache.spec.dataset is not None else ()


def preload_of(cache: CacheBackend) -> Preload | None:
    return (cache.spec.options or CacheOptions()).preload


def _problem_of_source(source: DataSource) -> str:
    if len(source.location) < SHORTEST_MOUNT_POINT:
        return f"the location {source.location} is too short to be one"
    if source.location.startswith("dataset://"):
        return f"{source.location} names another Dataset, which no runtime of these can cache: name the data itself"
    return ""


def _problem_of_level(level: TieredStorage) -> str:
    quota = quantities.parse(level.quota)
    if quota is None or quota <= 0:
        return f"the quota {level.quota!r} of {level.cache_path} is no quantity such as 1Gi"
    return ""


def _problem_of_juicefs(cache: CacheBackend, runtime: Piece) -> str:
    sources = sources_of(cache)
    if runtime is not Piece.JUICEFS_RUNTIME:
        return ""
    if len(sources) != 1 or not sources[0].location.startswith("juicefs://"):
        return "juicefsRuntime needs exactly one data source, with a location such as juicefs:///directory"
    if JUICEFS_KEYS.isdisjoint(option.name for option in sources[0].encrypt_options):
        return "juicefsRuntime needs metaurl or token in the data source's encryptOptions"
    return ""


def metadata(cache: CacheBackend) -> Manifest:
    """Give what all its objects have: Fluid adds owners of its own, so this one does not claim to control them."""
    own = cache.metadata
    definition = cache.definition
    owner = {"apiVersion": definition.api_version, "kind": definition.kind, "name": own.name, "uid": own.uid}
    return {"name": own.name, "namespace": own.namespace, "ownerReferences": [owner]}


def dataset(cache: CacheBackend) -> Manifest:
    placement = (cache.spec.options or CacheOptions()).placement
    spec: Manifest = {"mounts": [mount(source) for source in sources_of(cache)]}
    if placement is not None:
        spec["placement"] = placement.value
    return {"metadata": metadata(cache), "spec": spec}


def mount(source: DataSource) -> Manifest:
    found: Manifest = {"mountPoint": source.location}
    if source.sub_dir_name:
        found["name"] = source.sub_dir_name
    if source.options:
        found["options"] = dict(source.options)
    if source.encrypt_options:
        found["encryptOptions"] = [
            {
                "name": option.name,
                "valueFrom": {
                    "secretKeyRef": {
                        "name": option.value_from.secret_key_ref.name,
                        "key": option.value_from.secret_key_ref.key,
                    }
                },
            }
            for option in source.encrypt_options
        ]
    return found


def runtime_object(cache: CacheBackend, runtime: AlluxioRuntime) -> Manifest:
    levels = [
        {"mediumtype": level.medium_type.value, "path": level.cache_path, "quota": level.quota}
        for level in runtime.tiered_storage
    ]
    spec: Manifest = {"replicas": runtime.replicas, **({"tieredstore": {"levels": levels}} if levels else {})}
    return {"metadata": metadata(cache), "spec": spec}


def data_load(cache: CacheBackend) -> Manifest:
    """Name the root where no path is given: without a target, a Dataset of several mounts would not load."""
    preload = preload_of(cache) or Preload()
    spec: Manifest = {
        "dataset": {"name": cache.metadata.name, "namespace": cache.metadata.namespace},
        "target": [{"path": path} for path in preload.paths or ("/",)],
    }
    if preload.load_metadata is not None:
        spec["loadMetadata"] = preload.load_metadata
    return {"metadata": metadata(cache), "spec": spec}


def dataset_id(cache: CacheBackend, made: Manifest) -> str:
    """Give what Fluid labels a Dataset's objects with: its name, or its uid where that is too long for a label."""
    name = label_of(cache)
    return name if len(name) < LONGEST_LABEL else uid_of(made)


def node_label(cache: CacheBackend, made: Manifest) -> str:
    """Give what Fluid labels the nodes with that cache a Dataset; it counts the prefix in."""
    name = f"{NODE_LABEL}{label_of(cache)}"
    return name if len(name) < LONGEST_LABEL else f"{NODE_LABEL}{uid_of(made)}"


def label_of(cache: CacheBackend) -> str:
    return f"{cache.metadata.namespace}-{cache.metadata.name}"
