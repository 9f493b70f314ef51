"""A cache on our own engine: a SampleSet of its name does all the work."""

import re

import msgspec

from paddle_operator.api.cachebackend import CacheBackend, CacheBackendStatusWord, DataSource, JuiceFS, TieredStorage
from paddle_operator.api.conditions import find
from paddle_operator.api.formats import SCHEMES
from paddle_operator.api.manifest import Manifest, controller_of, uid_of
from paddle_operator.api.sampleset import LONGEST_NAME, SampleSetPhase, SampleSetStatus
from paddle_operator.desired import quantities
from paddle_operator.desired.cachebackend.engine import Parts, Piece, Pieces, Progress, Stage
from paddle_operator.desired.ownership import owned

LOCATION = re.compile(rf"({SCHEMES}|pvc)://.+|local:///.+")
MIB = 1 << 20


class JuiceFSCache:
    missing = "apply the definitions that `paddle-operator manifests crds` prints"

    def problem(self, cache: CacheBackend) -> str:
        name, engine = cache.metadata.name, engine_of(cache)
        if len(name) > LONGEST_NAME:
            return f"the name has more than {LONGEST_NAME} characters, and a SampleSet of the same name cannot"
        for source in sources_of(cache):
            if not LOCATION.fullmatch(source.location):
                return f"JuiceFS cannot copy from {source.location}: write local:///DIRECTORY, pvc://CLAIM, s3://…"
            if source.options or source.encrypt_options:
                return "options and encryptOptions are Fluid's: for JuiceFS give secretRef and mountOptions"
        sizes = [quantities.parse(level.quota) for level in (engine.tiered_storage if engine is not None else ())]
        return "" if all(found is not None and found > 0 for found in sizes) else "a quota is no quantity such as 1Gi"

    def objects(self, cache: CacheBackend) -> Pieces:
        engine = engine_of(cache)
        return () if engine is None else ((Piece.SAMPLE_SET, sample_set(cache, engine)),)

    def owns(self, cache: CacheBackend, claim: Manifest, parts: Parts) -> bool:
        del cache
        made, owner = parts.get(Piece.SAMPLE_SET), controller_of(claim)
        return made is not None and owner is not None and owner.get("uid") == uid_of(made)

    def progress(self, cache: CacheBackend, parts: Parts) -> Progress:
        """Say what the SampleSet says; one that was ready stays usable while a node is away."""
        status = status_of(parts.get(Piece.SAMPLE_SET) or {})
        why = find(status.conditions, "Stalled") or find(status.conditions, "Ready")
        words = f"SampleSet is {status.phase or 'not begun'}" + (f": {why.message}" if why is not None else "")
        figures = status.cache_status
        return Progress(
            stage_of(cache, status),
            words,
            None if figures is None else figures.total_bytes,
            None if figures is None else figures.cached_bytes,
        )


def engine_of(cache: CacheBackend) -> JuiceFS | None:
    return cache.spec.cache_engine.juicefs if cache.spec.cache_engine is not None else None


def sources_of(cache: CacheBackend) -> tuple[DataSource, ...]:
    return cache.spec.dataset.data_sources if cache.spec.dataset is not None else ()


def stage_of(cache: CacheBackend, status: SampleSetStatus) -> Stage:
    stalled = find(status.conditions, "Stalled")
    was_ready = cache.status is not None and cache.status.cache_status == CacheBackendStatusWord.PVC_CREATED
    if status.phase == SampleSetPhase.READY or (status.phase == SampleSetPhase.PARTIAL_READY and was_ready):
        return Stage.READY
    if status.phase == SampleSetPhase.SYNC_FAILED or (stalled is not None and stalled.status == "True"):
        return Stage.FAILED
    return Stage.WORKING


def status_of(made: Manifest) -> SampleSetStatus:
    try:
        return msgspec.convert(made.get("status") or {}, SampleSetStatus)
    except msgspec.ValidationError:
        return SampleSetStatus()


def sample_set(cache: CacheBackend, engine: JuiceFS) -> Manifest:
    spec: Manifest = {
        "partitions": engine.replicas,
        "secretRef": msgspec.to_builtins(engine.secret_ref),
        "sources": [source_of(source) for source in sources_of(cache)],
    }
    if engine.tiered_storage:
        spec["cache"] = {"levels": [level_of(level) for level in engine.tiered_storage]}
    if engine.mount_options is not None:
        spec["csi"] = {"driver": "juicefs", "juiceFSMountOptions": msgspec.to_builtins(engine.mount_options)}
    return {"metadata": owned(cache, cache.metadata.name, {}), "spec": spec}


def source_of(source: DataSource) -> Manifest:
    """Copy into the directory that the user names; what has no name goes to the root, as with Fluid's JuiceFS."""
    return {
        "uri": source.location,
        **({"path": source.sub_dir_name} if source.sub_dir_name else {}),
        **({"secretRef": msgspec.to_builtins(source.secret_ref)} if source.secret_ref is not None else {}),
    }


def level_of(level: TieredStorage) -> Manifest:
    quota = quantities.parse(level.quota)
    size = {} if quota is None else {"cacheSize": max(int(quota / MIB), 1)}
    return {"mediumType": level.medium_type.value, "path": level.cache_path.replace(",", ":"), **size}
