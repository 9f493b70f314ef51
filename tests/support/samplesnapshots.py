"""What is seen of a SampleSet, made by hand: its set, its servers, and what they say."""

import datetime as dt
from dataclasses import replace

import msgspec

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing, Word, Work, runtime
from paddle_operator.desired.sampleset.snapshot import SecretView, Settings, Snapshot
from paddle_operator.desired.sampleset.status import written
from paddle_operator.engines.juicefs.objects import JuiceFS
from support.samplesets import sample_set

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
IMAGE = "registry.example.com/paddle-operator:1"
SECRET = Key("default", "imagenet")
FINALIZER = "paddlepaddle.org/sampleset-imagenet"
WHOLE = SecretView(frozenset({"name", "storage", "metaurl", "bucket"}), "version-1")
READY = [{"type": "Ready", "status": "True"}]


def decoded(status: Manifest | None = None, metadata: Manifest | None = None, **spec: object) -> SampleSet:
    manifest = sample_set("default", **spec)
    manifest["metadata"] |= {"uid": "uid-1", "generation": 1, "finalizers": [FINALIZER], **(metadata or {})}
    return msgspec.convert({**manifest, "status": status}, SampleSet)


def server(
    partition: int = 0, node: str = "", *, ready: bool = True, word: Word | None = None, deleted: str | None = None
) -> Runtime:
    """Give a server; without a word it was not heard yet."""
    pod: Manifest = {
        "metadata": {"name": f"imagenet-runtime-{partition}", "namespace": "default", "uid": f"pod-{partition}"},
        "spec": {"nodeName": node or f"node-{partition}"},
        "status": {"phase": "Running", "conditions": READY if ready else []},
    }
    if deleted is not None:
        pod["metadata"]["deletionTimestamp"] = deleted
    return runtime(pod, partition, word)


def word(**works: Work) -> Word:
    """Let a server say what it works on; _ in an id stands for -."""
    figures = {"data_bytes": 300, "data_files": 3, "cached_bytes": 100, "capacity_bytes": 1000, "free_bytes": 900}
    return Word(**figures, works={name.replace("_", "-"): found for name, found in works.items()})  # type: ignore[arg-type]  # figures are numbers


def work(type_: str, standing: Standing = Standing.SUCCEEDED, *, minutes_ago: int = 1, missing: int = 0) -> Work:
    when = NOON - dt.timedelta(minutes=minutes_ago)
    ended = when if standing.is_over else None
    began = None if standing is Standing.QUEUED else when
    return Work(type_, standing, "why it failed", ordered=when, began=began, ended=ended, missing_files=missing)


def node(name: str, **labels: str) -> Manifest:
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": READY}}


def bound(of: SampleSet) -> tuple[Manifest, Manifest]:
    """Give the volume and the claim of a set, bound to each other."""
    volume, claim = JuiceFS().volume(of), JuiceFS().claim(of)
    volume["spec"]["claimRef"]["uid"] = claim["metadata"]["uid"] = "claim-1"
    return {**volume, "status": {"phase": "Bound"}}, {**claim, "status": {"phase": "Bound"}}


def seen(of: SampleSet | None = None, *runtimes: Runtime, **others: object) -> Snapshot:
    """Give a set whose claim is bound, with these servers."""
    found = of or decoded()
    volume, claim = bound(found)
    base = Snapshot(
        sample_set=found,
        now=NOON,
        settings=Settings(IMAGE),
        engine=JuiceFS(),
        secrets={SECRET: WHOLE},
        has_token=True,
        token="token",  # noqa: S106  # nobody's
        stateful_set={"metadata": {"name": "imagenet-runtime", "uid": "sts-1"}},
        runtimes={one.partition: one for one in runtimes},
        nodes={one.node: node(one.node) for one in runtimes},
        volume=volume,
        claim=claim,
    )
    return replace(base, **others)  # type: ignore[arg-type]  # a test names fields as they are


def after(snapshot: Snapshot, **others: object) -> Snapshot:
    """Give the snapshot of the next pass, with the status that this one writes."""
    status = plan(snapshot).status
    assert status is not None
    carried = msgspec.structs.replace(snapshot.sample_set, status=msgspec.convert(written(status), type(status)))
    return replace(snapshot, sample_set=carried, **others)  # type: ignore[arg-type]  # as above
