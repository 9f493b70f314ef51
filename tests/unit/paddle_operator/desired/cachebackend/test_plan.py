"""Where a cache stands, from what was seen of its engine's objects and of its claim."""

import msgspec
import pytest

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend.engine import Piece
from paddle_operator.desired.cachebackend.plan import Decision, plan
from paddle_operator.desired.cachebackend.snapshot import Snapshot
from paddle_operator.engines.registry import CACHE_ENGINES, cache_engine_name
from support.caches import FLUID, JUICEFS, cache_backend
from support.paddleworld import NOON

GOING = {"deletionTimestamp": "2026-01-01T12:00:00Z"}
EARLIER = {"ownerReferences": [{"kind": "CacheBackend", "name": "mnist", "uid": "uid-0"}]}


def part(status: Manifest | None = None, /, **metadata: object) -> Manifest:
    own = {"kind": "CacheBackend", "name": "mnist", "uid": "uid-1"}
    return {"metadata": {"name": "mnist", "uid": "uid-2", "ownerReferences": [own], **metadata}, "status": status or {}}


def claim(phase: str = "Bound", /, **metadata: object) -> Manifest:
    by_fluid = {"name": "mnist", "annotations": {"CreatedBy": "fluid"}}
    return {"metadata": {**by_fluid, **metadata}, "status": {"phase": phase}}


BOUND = {"phase": "Bound"}


def planned(
    found: dict[Piece, Manifest], claim: Manifest | None = None, engine: Manifest | None = None, **options: object
) -> Decision:
    made = cache_backend("mnist", engine or FLUID, options=options)
    made["metadata"]["uid"] = "uid-1"
    cache = msgspec.convert(made, CacheBackend)
    name = cache_engine_name(cache.spec)
    return plan(Snapshot(cache, NOON, CACHE_ENGINES[name], name, found, claim))


def stands(decision: Decision) -> tuple[str, str]:
    assert decision.status is not None
    (ready,) = decision.status.conditions
    return decision.status.cache_status, f"{ready.reason}: {ready.message}"


FOUND = {Piece.DATASET: part(BOUND), Piece.ALLUXIO_RUNTIME: part()}
CLAIMS = {
    "a bound one": (claim(), "PVCCreated", "Ready: Fluid's Dataset is Bound"),
    "one that is not bound yet": (claim("Pending"), "PVCCreating", "Binding: PersistentVolumeClaim mnist is Pending"),
    "one without a phase": (claim(""), "PVCCreating", "Binding: PersistentVolumeClaim mnist is Pending"),
    "one that lost its volume": (claim("Lost"), "PVCCreating", "Binding: PersistentVolumeClaim mnist is Lost"),
    "one that is being deleted": (
        claim(**GOING),
        "PVCCreating",
        "Binding: PersistentVolumeClaim mnist is being deleted",
    ),
    "none": (None, "PVCCreating", "Binding: there is no PersistentVolumeClaim mnist yet"),
}


@pytest.mark.parametrize(("seen", "word", "why"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_cache_is_ready_with_a_bound_claim_and_no_other(seen: Manifest | None, word: str, why: str) -> None:
    assert stands(planned(FOUND, seen)) == (word, why)


GOES = {
    "a Dataset that somebody deleted": (FOUND | {Piece.DATASET: part(BOUND, **GOING)}, claim(), FLUID, "Dataset"),
    "a runtime that somebody deleted": (
        FOUND | {Piece.ALLUXIO_RUNTIME: part(**GOING)},
        claim(),
        FLUID,
        "AlluxioRuntime",
    ),
    "a SampleSet that somebody deleted": (
        {Piece.SAMPLE_SET: part({"phase": "Ready"}, **GOING)},
        claim(),
        JUICEFS,
        "SampleSet",
    ),
    "the SampleSet of an earlier cache": (
        {Piece.SAMPLE_SET: part({"phase": "Ready"}, **EARLIER, **GOING)},
        claim(),
        JUICEFS,
        "SampleSet",
    ),
    "the SampleSet of an earlier cache, before it is deleted": (
        {Piece.SAMPLE_SET: part({"phase": "Ready"}, **EARLIER)},
        claim(),
        JUICEFS,
        "SampleSet",
    ),
    "the SampleSet of an earlier cache on another engine": (
        {Piece.SAMPLE_SET: part({"phase": "Ready"}, **EARLIER, **GOING)},
        claim(annotations={}),
        FLUID,
        "SampleSet",
    ),
    "a claim of somebody else": ({}, claim(annotations={}, **GOING), FLUID, "PersistentVolumeClaim"),
}


@pytest.mark.parametrize(("found", "seen", "engine", "kind"), GOES.values(), ids=GOES.keys())
def test_what_is_about_to_go_is_waited_for_and_nothing_is_made(
    found: dict[Piece, Manifest], seen: Manifest, engine: Manifest, kind: str
) -> None:
    decision = planned(found, seen, engine)
    assert stands(decision) == ("CacheCreating", f"Creating: waits for the end of {kind} mnist")
    assert (decision.apply, decision.create) == ((), ())


def test_a_claim_of_somebody_else_that_stays_is_told_of() -> None:
    word, why = stands(planned({}, claim(annotations={})))
    assert (word, why.partition(":")[0]) == ("CacheFailed", "NameTaken")


def test_a_cache_may_take_longer_than_any_calendar_holds() -> None:
    decision = planned({}, timeoutSeconds=10**12, idleTime=10**12)
    assert (stands(decision)[0], decision.expired) == ("CacheCreating", False)
