"""What Fluid says, in all the ways in which it says it."""

import pytest

from paddle_operator.api.cachebackend import WaitFor
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend.engine import Stage
from paddle_operator.engines.fluid.reading import preloaded, progress, size

FAILED = {"type": "NotReady", "status": "True", "reason": "DatasetFailedToSetup", "message": "no such bucket"}
NOT_READY = {"type": "Ready", "status": "False", "reason": "DatasetReady", "message": "the ddc runtime is ready"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("11.06MiB", 11597250),
        ("1.00GiB", 1 << 30),
        ("0.00B", 0),
        ("512B", 512),
        ("3.5GB", 3_500_000_000),
        ("7KiB", 7168),
        ("", None),
        ("-", None),
        ("[Calculating]", None),
        ("N/A", None),
        (None, None),
        (11, None),
        ({"a": 1}, None),
        ("9" * 400 + "EiB", None),
        ("nanMiB", None),
    ],
)
def test_a_size_is_read_or_not_known(written: object, expected: int | None) -> None:
    assert size(written) == expected


def dataset(phase: str, **status: object) -> Manifest:
    return {"status": {"phase": phase, **status}}


STAGES = {
    "bound": (dataset("Bound"), {}, Stage.READY, "Fluid's Dataset is Bound"),
    "bound, and the percentage is absent": (dataset("Bound", cacheStates={}), {}, Stage.READY, "is Bound"),
    "bound while Ready is False": (dataset("Bound", conditions=[NOT_READY]), {}, Stage.READY, "is Bound"),
    "updating": (dataset("Updating"), {}, Stage.READY, "is Updating"),
    "migrating": (dataset("DataMigrating"), {}, Stage.READY, "is DataMigrating"),
    "failed": (dataset("Failed", conditions=[FAILED]), {}, Stage.FAILED, "is Failed: no such bucket"),
    "not bound": (dataset("NotBound", conditions=[FAILED]), {}, Stage.WORKING, "is NotBound: no such bucket"),
    "not begun": ({}, {}, Stage.WORKING, "is not begun"),
    "a status that is none": ({"status": "odd"}, {"status": []}, Stage.WORKING, "is not begun"),
    "a runtime that is not ready": (
        dataset("NotBound"),
        {"status": {"masterPhase": "NotReady", "masterReason": "no image", "workerPhase": ""}},
        Stage.WORKING,
        "is NotBound: master NotReady (no image)",
    ),
    "no workers wanted": (
        dataset("Bound"), {"status": {"desiredWorkerNumberScheduled": 0}}, Stage.READY, "nothing is cached",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "runtime", "stage", "words"), STAGES.values(), ids=STAGES.keys())
def test_the_phase_decides_and_fluids_words_explain(
    found: Manifest, runtime: Manifest, stage: Stage, words: str
) -> None:
    told = progress(found, runtime)
    assert told.stage is stage
    assert told.message.endswith(words)


def test_a_dataset_that_failed_and_is_bound_again_is_ready_again() -> None:
    assert [progress(dataset(phase), {}).stage for phase in ("Bound", "Failed", "Bound")] == [
        Stage.READY, Stage.FAILED, Stage.READY,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("phase", "wait_for", "stage"),
    [
        ("Executing", WaitFor.LOADED, Stage.WORKING),
        ("Executing", None, Stage.READY),
        ("Complete", WaitFor.LOADED, Stage.READY),
        ("Failed", WaitFor.LOADED, Stage.READY),
        ("", WaitFor.LOADED, Stage.WORKING),
    ],
)
def test_a_preload_is_waited_for_only_where_asked_and_its_failure_keeps_nobody_from_reading(
    phase: str, wait_for: WaitFor | None, stage: Stage
) -> None:
    load = {"status": {"phase": phase, "conditions": [{"type": phase, "message": "out of memory"}]}}
    told = preloaded(progress(dataset("Bound"), {}), load, wait_for)
    assert told.stage is stage
    assert ("out of memory" in told.message) is (phase == "Failed")
