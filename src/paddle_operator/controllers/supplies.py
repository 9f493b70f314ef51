"""The data that a job asks for, as it is seen in the caches."""

import msgspec

from paddle_operator.api.cachebackend import CacheBackend, CacheBackendSpec
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Key
from paddle_operator.api.references import SampleSetReference
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.control.controller import SETTLE, Trigger, World
from paddle_operator.controllers.cacheusers import decode
from paddle_operator.controllers.kinds import CACHE_BACKENDS, SAMPLE_SETS
from paddle_operator.controllers.memory import Memory
from paddle_operator.desired.cachebackend.naming import cache_name


def triggers(memory: Memory) -> tuple[Trigger, ...]:
    """Look at jobs again when what they wait for changes; a cluster may know neither kind."""
    return tuple(
        Trigger(kind, memory.readers(kind), settle=SETTLE, optional=True) for kind in (SAMPLE_SETS, CACHE_BACKENDS)
    )


def observe_sample_set(
    world: World, job: Kind, reference: SampleSetReference | None, memory: Memory
) -> SampleSet | None:
    if reference is None:
        return None
    wanted = Key(job.metadata.namespace, reference.name)
    memory.reads(SAMPLE_SETS, wanted, Key(job.metadata.namespace, job.metadata.name))
    found = world.stores[SAMPLE_SETS].get(wanted)
    if found is None:
        return None
    try:
        return msgspec.convert({**found, **SAMPLE_SETS.identity}, SampleSet)
    except msgspec.ValidationError:
        return None  # its own controller says what is wrong with it


def observe_cache(world: World, job: Kind, spec: CacheBackendSpec | None, memory: Memory) -> CacheBackend | None:
    if spec is None:
        return None
    own = job.metadata
    wanted = Key(own.namespace, cache_name(spec, own.name, own.uid))
    memory.reads(CACHE_BACKENDS, wanted, Key(own.namespace, own.name))
    found = world.stores[CACHE_BACKENDS].get(wanted)
    try:
        return None if found is None else decode(found)
    except msgspec.ValidationError:
        return None  # its own controller says what is wrong with it
