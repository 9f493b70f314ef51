"""How a job goes from one pass to the next: what is written, what servers are told, when it is looked at again."""

import datetime as dt
from dataclasses import replace

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.samplejob.orders import operation_id
from paddle_operator.desired.samplejob.plan import plan
from paddle_operator.desired.samplejob.snapshot import Rival, Snapshot
from paddle_operator.desired.sampleset.runtimes import Standing, Work
from support import samplesnapshots
from support.jobsnapshots import READY, after, decoded, rival, seen
from support.samplesnapshots import NOON, server, word

HELD = ("paddlepaddle.org/samplejob-work",)


def condition(snapshot: Snapshot) -> str:
    status = plan(snapshot).status
    assert status is not None
    return f"{status.phase} {status.conditions[0].reason}: {status.conditions[0].message}"


def begun(snapshot: Snapshot) -> Snapshot:
    """Give the snapshot after the servers were chosen, with the finalizer in its place."""
    later = after(snapshot)
    metadata = msgspec.structs.replace(later.job.metadata, finalizers=HELD)
    return replace(later, job=msgspec.structs.replace(later.job, metadata=metadata))


def saying(snapshot: Snapshot, *works: Work | None) -> Snapshot:
    """Let each server say this of the job's work."""
    said = [{operation_id(snapshot.before, number): work} if work else {} for number, work in enumerate(works)]
    servers = [server(number, word=word(**words)) for number, words in enumerate(said)]
    return replace(snapshot, runtimes={found.partition: found for found in servers})


def test_servers_are_chosen_and_written_down_before_any_is_told() -> None:
    snapshot = seen(decoded("clear"), server(word=word()), server(1, word=word()))
    first = plan(snapshot)
    assert first.status is not None
    assert ([found.pod for found in first.status.results], first.errands, first.finalizers) == (
        ["imagenet-runtime-0", "imagenet-runtime-1"], (), HELD
    )  # fmt: skip
    assert [(errand.pod, errand.order) for errand in plan(begun(snapshot)).errands] == [
        ("imagenet-runtime-0", {"type": "clear"}),
        ("imagenet-runtime-1", {"type": "clear"}),
    ]


def test_servers_that_come_later_have_no_part_and_those_that_go_are_missed() -> None:
    """The original asked whoever was there: a job with one more server never ended, with one less it succeeded."""
    job = begun(seen(decoded("clear"), server(word=word()), server(1, word=word())))
    done = Work("clear", Standing.SUCCEEDED, began=NOON, ended=NOON)
    more = saying(job, done, done, done)
    assert condition(more).startswith("Succeeded DoClearJobSuccessfully: all 2 servers are done")
    less = saying(job, done)
    assert condition(less).startswith("Running Running: 1 of 2 servers are done; imagenet-runtime-1: does not answer")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (None, "is not ready"),
        ({"phase": "Syncing", "conditions": [{"type": "Ready", "status": "False", "message": "9 files"}]}, "9 files"),
        (
            {
                "phase": "PartialReady",
                "conditions": [{"type": "Ready", "status": "False", "reason": "WarmingUp", "message": "0 of 1"}],
            },
            "brings its data into the caches first: 0 of 1",
        ),
    ],
)
def test_a_set_that_is_not_ready_is_waited_for(status: Manifest | None, told: str) -> None:
    snapshot = seen(sample_set=samplesnapshots.decoded(status))
    assert condition(snapshot).startswith("Pending WaitingForSampleSet: SampleSet imagenet ")
    assert condition(snapshot).endswith(told)


def test_a_set_without_servers_is_waited_for_and_nothing_succeeds() -> None:
    assert condition(seen(runtimes={})).endswith("has servers that do not answer yet: imagenet-runtime-0")


def test_a_set_that_is_being_deleted_gets_no_more_work() -> None:
    going = samplesnapshots.decoded(READY, {"deletionTimestamp": "2026-01-01T11:00:00Z"})
    assert condition(seen(sample_set=going)).endswith("SampleSet imagenet is being deleted")


def test_a_secret_that_is_missing_is_waited_for_and_looked_for() -> None:
    snapshot = seen(decoded("sync"), has_secret=False)
    assert condition(snapshot).startswith("Pending ErrorSecretNotExist: there is no Secret default/imagenet")
    assert plan(snapshot).look_again == 5.0


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        (rival("older", 11), True),
        (rival("a", 10), True),
        (rival("z", 10), False),
        (rival("younger", 9), False),
        (rival("younger", 9, begun=True), True),
        (rival("older", 11, lacks=True), False),
        (rival("older", 11, lacks=True, begun=True), True),
    ],
)
def test_jobs_queue_by_age_then_name_and_who_has_begun_goes_first(other: Rival, *, waits: bool) -> None:
    assert condition(seen(rivals=(other,))).startswith("Pending InQueue") == waits


@pytest.mark.parametrize(
    ("other", "ends"),
    [
        (rival("z", 9, terminates=True), True),
        (rival("a", 11, terminates=True), False),
        (rival("z", 9, begun=True, terminates=True), False),
        (rival("z", 9, lacks=True, terminates=True), False),
    ],
)
def test_only_who_is_waited_for_by_a_job_that_terminates_gives_way(other: Rival, *, ends: bool) -> None:
    assert condition(seen(rivals=(other,))).startswith("Failed Terminated") == ends


def test_a_deadline_does_not_wait_for_a_server_that_is_away() -> None:
    job = begun(seen(decoded("clear", activeDeadlineSeconds=60), server(word=word()), server(1, word=word())))
    away = replace(saying(job, Work("clear", Standing.RUNNING, began=NOON)), now=NOON + dt.timedelta(seconds=60))
    status = plan(away).status
    assert status is not None
    assert [found.phase for found in status.results] == ["Running", "Lost"]
    done = saying(after(away), Work("clear", Standing.CANCELLED, began=NOON))
    assert condition(done).startswith("Failed DeadlineExceeded: it was cancelled after 60 s")
    assert plan(done).finalizers is None


def test_a_time_that_no_calendar_holds_is_one_that_never_comes() -> None:
    far: Manifest = {"activeDeadlineSeconds": 10**12, "ttlSecondsAfterFinished": 10**12}
    works = plan(saying(begun(seen(decoded("clear", **far))), Work("clear", Standing.RUNNING, began=NOON)))
    assert (works.status and works.status.phase, works.expired) == ("Running", False)
    ended = {"phase": "Succeeded", "completionTime": "2026-01-01T11:00:00Z"}
    assert not plan(seen(decoded("clear", ended, **far))).expired


def test_a_second_look_changes_nothing() -> None:
    job = begun(seen())
    half = Work("warmup", Standing.RUNNING, began=NOON - dt.timedelta(seconds=10), bytes=50, total_bytes=100)
    first = saying(job, half)
    second = after(first, now=NOON + dt.timedelta(seconds=5))
    assert plan(second).status == second.before
    assert plan(second).notices == ()


def test_figures_stay_for_a_while_unless_a_part_begins_or_ends() -> None:
    def half(size: int, standing: Standing = Standing.RUNNING) -> Work:
        return Work("warmup", standing, began=NOON, bytes=size, total_bytes=100)

    def shown(snapshot: Snapshot) -> list[int | None]:
        status = plan(snapshot).status
        assert status is not None
        return [found.done_bytes for found in status.results]

    first = saying(begun(seen(None, server(word=word()), server(1, word=word()))), half(10), half(20))
    assert shown(replace(first, figures_since=NOON)) == [10, 20]
    later = replace(saying(after(first), half(50), half(60)), figures_since=NOON, now=NOON + dt.timedelta(seconds=1))
    assert (shown(later), plan(later).status, plan(later).look_again) == ([10, 20], later.before, 2.0)
    assert shown(saying(later, half(50), half(100, Standing.SUCCEEDED))) == [10, 100]
    assert shown(replace(later, now=NOON + dt.timedelta(seconds=3))) == [50, 60]


LEFT = {
    "by bytes": (Work("warmup", Standing.RUNNING, files=9, total_files=10, bytes=25, total_bytes=100), 30, "25%"),
    "by files, when bytes are not known": (Work("sync", Standing.RUNNING, files=5, total_files=20, bytes=7), 30, "25%"),
    "not at all without a total": (Work("sync", Standing.RUNNING, files=5, bytes=7), None, "5 files"),
}


@pytest.mark.parametrize(("work", "left", "progress"), LEFT.values(), ids=LEFT.keys())
def test_the_time_left_is_told_as_soon_as_a_total_is_known(work: Work, left: int | None, progress: str) -> None:
    status = plan(saying(begun(seen()), replace(work, began=NOON - dt.timedelta(seconds=10)))).status
    assert status is not None
    assert (status.results[0].seconds_left, status.progress) == (left, progress)


def test_edited_options_cancel_the_work_and_begin_anew() -> None:
    job = begun(seen(decoded("rmr")))
    name = operation_id(job.before, 0)
    running = word(**{name.replace("-", "_"): Work("rmr", Standing.RUNNING, began=NOON)})
    edited = decoded("rmr", rmrOptions={"paths": ["other"]})
    edited = msgspec.structs.replace(edited, status=job.job.status)
    decision = plan(replace(job, job=edited, runtimes={0: server(word=running)}))
    assert [(errand.id, errand.order) for errand in decision.errands] == [(name, {})]
    assert decision.status is not None
    assert decision.status.job_name != job.before.job_name


def test_options_that_are_put_back_are_work_of_their_own() -> None:
    """Under the old id the servers would tell that it was cancelled, and the job would fail."""
    first = begun(seen(decoded("rmr")))
    other = msgspec.structs.replace(decoded("rmr", rmrOptions={"paths": ["other"]}), status=first.job.status)
    second = after(replace(first, job=other, now=NOON + dt.timedelta(minutes=1)))
    back = msgspec.structs.replace(decoded("rmr"), status=second.job.status)
    third = after(replace(second, job=back, now=NOON + dt.timedelta(minutes=2)))
    assert (third.before.job_name, first.before.retries) == (first.before.job_name, third.before.retries)
    assert operation_id(third.before, 0) != operation_id(first.before, 0)


def test_what_a_node_did_for_another_partition_is_not_taken_for_a_servers_own_part() -> None:
    """A server that moves finds on its new node what another one left there."""
    job = begun(seen(decoded(), *(server(number, word=word()) for number in range(2))))
    mine, other = (operation_id(job.before, number) for number in (1, 0))
    for standing in (Standing.SUCCEEDED, Standing.RUNNING):
        moved = server(1, word=word(**{other: Work("warmup", standing, began=NOON)}))
        decision = plan(replace(job, runtimes={1: moved}))
        assert decision.status is not None
        assert decision.status.results[1].phase == ""
        cancelled = [] if standing.is_over else [other]
        assert [errand.id for errand in decision.errands] == [mine, *cancelled]
        assert [bool(errand.order) for errand in decision.errands] == [True, *(False for _ in cancelled)]


def test_who_was_lost_stays_so_when_others_took_shares_of_different_files() -> None:
    job = begun(seen(decoded(), *(server(number, word=word()) for number in range(3))))
    done = [Work("warmup", Standing.SUCCEEDED, "noted", began=NOON, dealt_from=files) for files in ("3-aa", "4-bb")]
    job = after(saying(job, *done))
    decision = plan(replace(job, now=NOON + dt.timedelta(minutes=11)))
    assert decision.status is not None
    assert [found.phase for found in decision.status.results] == ["Failed", "Failed", "Lost"]
    told = decision.status.results[0].message
    assert told.startswith("files came or went while the servers listed them")
    assert told.endswith(": 3-aa; noted")


def test_a_failed_job_begins_anew_with_other_options_and_a_succeeded_one_never() -> None:
    for phase, begins in (("Failed", True), ("Succeeded", False)):
        before = {"phase": phase, "jobName": "work-of-other-options", "completionTime": "2026-01-01T11:00:00Z"}
        status = plan(seen(decoded("rmr", before))).status
        assert status is not None
        assert (status.phase == "Pending") == begins


def test_a_job_that_is_deleted_cancels_what_its_servers_have_not_told_of_yet() -> None:
    job = begun(seen())
    metadata = msgspec.structs.replace(job.job.metadata, deletion_timestamp=NOON)
    job = replace(job, job=msgspec.structs.replace(job.job, metadata=metadata))
    assert [errand.order for errand in plan(job).errands] == [{}]
    told = saying(job, Work("", Standing.CANCELLED))
    assert (plan(told).errands, plan(told).finalizers) == ((), ())
    silent = replace(job, runtimes={})
    assert (plan(silent).finalizers, plan(silent).look_again) == (None, 1.0)
    assert plan(replace(silent, now=NOON + dt.timedelta(minutes=1))).finalizers == ()
    assert plan(replace(silent, sample_set=None)).finalizers == ()


def test_a_job_that_is_deleted_before_it_begins_anew_cancels_what_other_options_began() -> None:
    job = begun(seen(decoded("rmr")))
    name = operation_id(job.before, 0)
    metadata = msgspec.structs.replace(job.job.metadata, deletion_timestamp=NOON)
    status = msgspec.structs.replace(job.before, job_name="", results=())
    gone = msgspec.structs.replace(job.job, metadata=metadata, status=status)
    runs = server(word=word(**{name: Work("rmr", Standing.RUNNING, began=NOON)}))
    decision = plan(replace(job, job=gone, runtimes={0: runs}))
    assert ([(errand.id, errand.order) for errand in decision.errands], decision.finalizers) == ([(name, {})], None)


def test_no_more_missing_files_are_named_than_an_object_has_room_for() -> None:
    names = tuple("x" * 5000 for _ in range(100))
    lack = Work("warmup", Standing.FAILED, began=NOON, ended=NOON, missing_files=5000, missing=names)
    job = begun(seen(decoded(), *(server(number, word=word()) for number in range(3))))
    status = plan(saying(job, lack, lack, lack)).status
    assert status is not None
    assert [len(found.missing) for found in status.results] == [100, 0, 0]
    assert {len(name) for name in status.results[0].missing} == {256}
    assert [found.missing_files for found in status.results] == [5000] * 3
