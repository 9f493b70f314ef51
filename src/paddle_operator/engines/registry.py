"""The engines that there are: one line each."""

import msgspec

from paddle_operator.api.cachebackend import CacheBackendSpec
from paddle_operator.api.sampleset import CSIDriver, SampleSet
from paddle_operator.desired.cachebackend.engine import Engine as CacheEngine
from paddle_operator.desired.sampleset.engine import Engine
from paddle_operator.engines.fluid.objects import Fluid
from paddle_operator.engines.juicefs.caching import JuiceFSCache
from paddle_operator.engines.juicefs.objects import JuiceFS

ENGINES: dict[CSIDriver, Engine] = {
    CSIDriver.JUICEFS: JuiceFS(),
}
# By the member of cacheEngine that asks for it.
CACHE_ENGINES: dict[str, CacheEngine] = {
    "fluid": Fluid(),
    "juicefs": JuiceFSCache(),
}


def engine_of(sample_set: SampleSet) -> Engine:
    return ENGINES[sample_set.spec.csi.driver if sample_set.spec.csi else CSIDriver.JUICEFS]


def cache_engine_name(spec: CacheBackendSpec) -> str:
    """Name the engine that a cache asks for; nothing if it asks for none, or for several."""
    given = {} if spec.cache_engine is None else msgspec.structs.asdict(spec.cache_engine)
    asked = [name for name, engine in given.items() if engine is not None and name in CACHE_ENGINES]
    return asked[0] if len(asked) == 1 else ""
