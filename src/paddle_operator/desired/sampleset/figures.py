"""How much data there is and how much of it is cached: in bytes, and as people read it."""

from paddle_operator.api.sampleset import CacheStatus, NodeStatus
from paddle_operator.desired.sampleset.runtimes import Runtime
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.warming import Warming, memory

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
STEP = 1024
FEW = 10


def in_words(number: int) -> str:
    """Write a size: 200 B, 4.0 KiB, 58 MiB."""
    power = 0
    while power < len(UNITS) - 1 and number >= STEP ** (power + 1):
        power += 1
    value = int(number / STEP**power * 10 + 0.5) / 10
    return f"{value:.1f} {UNITS[power]}" if power and value < FEW else f"{value:.0f} {UNITS[power]}"


def node_statuses(snapshot: Snapshot, warming: Warming) -> tuple[NodeStatus, ...]:
    known = memory(snapshot)
    return tuple(
        _node(snapshot, found, known.get(found.partition), warming.missing.get(found.partition))
        for found in snapshot.wanted
        if found.node
    )


def _node(snapshot: Snapshot, runtime: Runtime, known: NodeStatus | None, missing: int | None) -> NodeStatus:
    """Say what the server last said; of one that was not heard yet, what is known from before."""
    past = known or NodeStatus(runtime.partition)
    word = runtime.word if runtime.word is not None and runtime.word.mounted else None
    return NodeStatus(
        partition=runtime.partition,
        node=runtime.node,
        pod=runtime.name,
        ready=runtime.serves,
        warmed_for=past.warmed_for if missing is None else snapshot.partitions,
        missing_files=past.missing_files if missing is None else missing,
        cached_bytes=word.cached_bytes if word else past.cached_bytes,
        capacity_bytes=word.capacity_bytes if word else past.capacity_bytes,
        free_bytes=word.free_bytes if word else past.free_bytes,
        hits=word.hits if word else past.hits,
        misses=word.misses if word else past.misses,
        cache=word.cache if word else past.cache,
    )


def cache_status(snapshot: Snapshot, nodes: tuple[NodeStatus, ...]) -> CacheStatus | None:
    """Sum up; each server says the same of the data, so the first that was heard is asked."""
    before = snapshot.before.cache_status
    heard = [found.word for found in snapshot.wanted if found.word is not None and found.word.mounted]
    troubles = "; ".join(f"{found.name}: {found.trouble}" for found in snapshot.wanted if found.trouble)
    if not heard and before is None and not troubles:
        return None
    past = before or CacheStatus()
    total = heard[0].data_bytes if heard else past.total_bytes or 0
    files = heard[0].data_files if heard else past.file_count or 0
    cached = sum(found.cached_bytes for found in nodes)
    size, free = sum(found.capacity_bytes for found in nodes), sum(found.free_bytes for found in nodes)
    return CacheStatus(
        total_size=in_words(total),
        total_files=f"{files:,}",
        cached_size=in_words(cached),
        disk_size=in_words(size),
        disk_used=in_words(size - free),
        disk_avail=in_words(free),
        disk_usage_rate=f"{100 * (size - free) / size if size else 0:.1f}%",
        error_massage=troubles,
        total_bytes=total,
        file_count=files,
        cached_bytes=cached,
        disk_size_bytes=size,
        disk_used_bytes=size - free,
        disk_avail_bytes=free,
    )
