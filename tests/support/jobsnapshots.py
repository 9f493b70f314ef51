"""What is seen of a SampleJob, made by hand: its job, its set, and the set's servers."""

import datetime as dt
from dataclasses import replace

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.samplejob import SampleJob
from paddle_operator.desired.samplejob.plan import plan
from paddle_operator.desired.samplejob.snapshot import Rival, Snapshot
from paddle_operator.desired.samplejob.status import written
from paddle_operator.desired.sampleset.runtimes import Runtime
from support import samplesnapshots
from support.samplejobs import job
from support.samplesnapshots import NOON, server, word

CACHES = ("/dev/shm/default-imagenet-1/cache", "/ssd/default-imagenet-1/cache")
READY = {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "all"}]}


def decoded(type_: str = "warmup", status: Manifest | None = None, **spec: object) -> SampleJob:
    manifest = job(type_, "work", **spec)
    created = (NOON - dt.timedelta(minutes=10)).isoformat()
    manifest["metadata"] |= {"uid": "uid-1", "generation": 1, "creationTimestamp": created}
    return msgspec.convert({**manifest, "status": status}, SampleJob)


def seen(of: SampleJob | None = None, *runtimes: Runtime, **others: object) -> Snapshot:
    """Give a job whose set is ready, with these servers, or with one that was heard."""
    present = runtimes or (server(word=word()),)
    sample_set = samplesnapshots.decoded(READY, partitions=len(present))
    base = Snapshot(of or decoded(), NOON, sample_set, CACHES, runtimes={one.partition: one for one in present})
    return replace(base, **others)  # type: ignore[arg-type]  # a test names fields as they are


def after(snapshot: Snapshot, **others: object) -> Snapshot:
    """Give the snapshot of the next pass, with the status that this one writes."""
    status = plan(snapshot).status
    assert status is not None
    carried = msgspec.structs.replace(snapshot.job, status=msgspec.convert(written(status), type(status)))
    return replace(snapshot, job=carried, **others)  # type: ignore[arg-type]  # as above


def rival(name: str, minutes_ago: int = 10, **others: bool) -> Rival:
    return Rival(name, NOON - dt.timedelta(minutes=minutes_ago), **others)
