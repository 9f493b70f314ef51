"""The way of a SampleSet, step by step: what is made, ordered and said at each."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.api.sampleset import SampleSetStatus
from paddle_operator.desired.sampleset.decision import Decision, Piece
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing, Word, runtime
from paddle_operator.desired.sampleset.snapshot import Snapshot
from support.samplesets import SOURCE
from support.samplesnapshots import FINALIZER, NOON, SECRET, WHOLE, after, decoded, node, seen, server, word, work

OWN = sampleset_node_label("default", "imagenet")
SHARED = "paddlepaddle.org/juicefs-imagenet"


def status_of(decision: Decision) -> SampleSetStatus:
    assert decision.status is not None
    return decision.status


def why(decision: Decision, kind: str = "Ready") -> str:
    return "".join(f"{one.reason}: {one.message}" for one in status_of(decision).conditions if one.type == kind)


def pieces(decision: Decision) -> list[str]:
    made = [*decision.apply, *decision.create]
    return [piece.value for piece, _ in made]


def orders(decision: Decision) -> list[tuple[str, str]]:
    return [(errand.pod, errand.order["type"]) for errand in decision.errands]


def sync_id(snapshot: Snapshot) -> str:
    """Give the id of the first order that a server which was never told anything gets."""
    (errand,) = plan(snapshot).errands
    return errand.id


def synced(*standings: Standing, minutes_ago: int = 1) -> Snapshot:
    """Have one server that has tried to copy as often."""
    name = sync_id(seen(None, server(word=word())))[:-1]
    works = {f"{name}{number}": work("sync", one, minutes_ago=minutes_ago) for number, one in enumerate(standings)}
    return seen(None, server(word=word(**works)))


def test_a_new_set_gets_its_volume_and_its_claim_and_is_held_until_they_are_gone() -> None:
    unheld = decoded(metadata={"finalizers": ["example.org/other"]})
    decision = plan(seen(unheld, volume=None, claim=None, stateful_set=None, has_token=False))
    assert pieces(decision) == ["PersistentVolume", "PersistentVolumeClaim"]
    assert decision.finalizers == ("example.org/other", FINALIZER)
    assert (decision.errands, decision.labels, status_of(decision).phase) == ((), (), "")
    assert why(decision).startswith("Binding: claim imagenet waits to be bound to volume default-imagenet-")


def test_a_bound_set_gets_its_token_first_and_then_its_servers() -> None:
    decision = plan(seen(has_token=False, stateful_set=None))
    assert pieces(decision) == ["PersistentVolume", "PersistentVolumeClaim", "Secret"]
    assert decision.look_again == 0.15
    decision = plan(seen(stateful_set=None))
    assert pieces(decision) == ["Service", "StatefulSet", "PersistentVolume", "PersistentVolumeClaim"]
    assert (status_of(decision).phase, why(decision)) == (
        "Bound", "RuntimeStarting: 0 of 1 runtime servers are ready"
    )  # fmt: skip


WAYS: dict[str, tuple[Callable[[], Snapshot], str, str, list[str]]] = {
    "no server is ready": (
        lambda: seen(None, server(ready=False)),
        "Bound", "RuntimeStarting: 0 of 1 runtime servers are ready", [],
    ),
    "server 0 has not been heard": (
        lambda: seen(None, server()),
        "Mount", "WaitingForRuntime: the server of partition 0 has not reported yet", [],
    ),
    "server 0 listens": (
        lambda: seen(None, server(word=word())),
        "Mount", "CreateSyncJobSuccessfully: the server of partition 0 is told to copy", ["sync"],
    ),
    "the copy runs": (
        lambda: synced(Standing.RUNNING), "Syncing", "Syncing: 0 files are copied", [],
    ),
    "the copy failed just now": (
        lambda: synced(Standing.FAILED, minutes_ago=0), "SyncFailed", "ErrorDoSyncJob: why it failed", [],
    ),
    "the copy failed a minute ago": (
        lambda: synced(Standing.FAILED), "Syncing", "Syncing: 0 files are copied", ["sync"],
    ),
    "the copy was cancelled by somebody": (
        lambda: synced(Standing.CANCELLED), "Syncing", "Syncing: 0 files are copied", ["sync"],
    ),
    "the second try failed a minute ago": (
        lambda: synced(Standing.FAILED, Standing.FAILED), "Syncing", "Syncing: 0 files are copied", ["sync"],
    ),
    "the data is copied": (
        lambda: synced(Standing.SUCCEEDED),
        "PartialReady", "WarmingUp: 0 of 1 partitions are warmed up", ["warmup"],
    ),
    "nothing is to be copied": (
        lambda: seen(decoded(noSync=True, source=None), server(word=word())),
        "PartialReady", "WarmingUp: 0 of 1 partitions are warmed up", ["warmup"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("made", "phase", "reason", "ordered"), WAYS.values(), ids=WAYS.keys())
def test_a_set_stands_where_its_servers_say(
    made: Callable[[], Snapshot], phase: str, reason: str, ordered: list[str]
) -> None:
    decision = plan(made())
    assert (status_of(decision).phase, why(decision)) == (phase, reason)
    assert [kind for _, kind in orders(decision)] == ordered


def warm(partitions: int = 1, **others: object) -> Snapshot:
    """Have a set that was Ready before, with all servers heard."""
    of = decoded(partitions=partitions, noSync=True, source=None)
    cold = seen(of, *(server(number, word=word()) for number in range(partitions)))
    works = {errand.pod: {errand.id: work("warmup")} for errand in plan(cold).errands}
    runtimes = [server(number, word=word(**works[f"imagenet-runtime-{number}"])) for number in range(partitions)]
    return after(seen(of, *runtimes), **others)


def test_a_set_is_ready_when_each_partition_is_warm_on_its_node() -> None:
    decision = plan(warm(2))
    assert (status_of(decision).phase, why(decision)) == ("Ready", "Ready: all 2 partitions are ready")
    assert why(decision, "Warm") == "WarmedUp: 2 of 2 partitions are warmed up"
    assert decision.errands == ()
    assert decision.labels == tuple(
        (f"node-{number}", {OWN: f"imagenet-runtime-{number}", SHARED: f"imagenet-runtime-{number}"})
        for number in range(2)
    )


def test_a_manager_that_was_just_started_takes_nothing_back_until_the_servers_were_heard() -> None:
    heard = warm()
    unheard = plan(after(heard, runtimes={0: server()}))
    assert unheard.status == plan(after(heard)).status
    assert (unheard.errands, unheard.notices) == ((), ())


def test_a_server_that_moved_to_another_node_is_warmed_up_there() -> None:
    moved = plan(warm(2, runtimes={0: server(0, word=word()), 1: server(1, "node-9", word=word())}))
    assert (status_of(moved).phase, orders(moved)) == ("PartialReady", [("imagenet-runtime-1", "warmup")])


def test_another_number_of_partitions_warms_all_shares_anew() -> None:
    before = warm(1)
    wanted = msgspec.structs.replace(before.sample_set.spec, partitions=2)
    grown = msgspec.structs.replace(before.sample_set, spec=wanted)
    decision = plan(replace(before, sample_set=grown, runtimes={**before.runtimes, 1: server(1, word=word())}))
    assert orders(decision) == [("imagenet-runtime-0", "warmup"), ("imagenet-runtime-1", "warmup")]
    assert [errand.order["share"] for errand in decision.errands] == [
        {"partition": number, "partitions": 2} for number in range(2)
    ]


def failing_warmup(tries: int, missing: int) -> Decision:
    of = decoded(noSync=True, source=None)
    (errand,) = plan(seen(of, server(word=word()))).errands
    works = {f"{errand.id[:-1]}{number}": work("warmup", Standing.FAILED, missing=missing) for number in range(tries)}
    return plan(seen(of, server(word=word(**works))))


@pytest.mark.parametrize(
    ("tries", "missing", "phase", "ordered"),
    [
        pytest.param(1, 0, "PartialReady", 1, id="one that failed is tried again"),
        pytest.param(9, 0, "PartialReady", 0, id="the later the more often"),
        pytest.param(2, 5, "PartialReady", 1, id="so is one that found no room, twice"),
        pytest.param(3, 5, "Ready", 0, id="and then it is as good as it gets"),
    ],
)
def test_a_warm_up_that_fails(tries: int, missing: int, phase: str, ordered: int) -> None:
    decision = failing_warmup(tries, missing)
    assert (status_of(decision).phase, len(decision.errands)) == (phase, ordered)
    assert status_of(decision).conditions[2].status == "False"


def test_what_found_no_room_is_told() -> None:
    decision = failing_warmup(3, 5)
    assert why(decision, "Warm") == (
        "PartlyWarmedUp: 1 of 1 partitions are warmed up; partition 0 lacks 5 files of its share:"
        " its cache has no room, or objects are missing in the store or damaged"
    )
    assert status_of(decision).nodes[0].missing_files == 5


def test_several_sources_are_copied_each_into_its_directory_with_its_own_keys() -> None:
    sources = [
        {"uri": "s3://one.example.com/data/", "path": "one"},
        {"uri": "s3://two.example.com/data/", "path": "two", "secretRef": {"name": "two"}},
        {"uri": "s3://three.example.com/data/", "secretRef": {"namespace": "elsewhere"}},
    ]
    of = decoded(source=None, sources=sources)
    secrets = {SECRET: WHOLE, SECRET._replace(name="two"): WHOLE, SECRET._replace(namespace="elsewhere"): WHOLE}
    decision = plan(seen(of, server(word=word()), secrets=secrets))
    assert [(errand.order, str(errand.secret)) for errand in decision.errands] == [
        ({"type": "sync", "source": "s3://one.example.com/data/", "destination": "one"}, "default/imagenet"),
        ({"type": "sync", "source": "s3://two.example.com/data/", "destination": "two"}, "default/two"),
        ({"type": "sync", "source": "s3://three.example.com/data/"}, "elsewhere/imagenet"),
    ]
    assert len({errand.id for errand in decision.errands}) == 3


def test_an_order_has_the_same_id_every_time_and_another_one_for_another_source_or_set() -> None:
    other: Manifest = {**SOURCE, "uri": "bos://elsewhere.example.com/data"}
    first, again, edited = (sync_id(seen(decoded(**spec), server(word=word()))) for spec in ({}, {}, {"source": other}))
    assert first == again != edited


def test_a_lack_of_the_sources_secret_is_told_before_the_copy_and_forgotten_after_it() -> None:
    source = {**SOURCE, "secretRef": {"name": "keys"}}
    of = decoded(source=source)
    decision = plan(seen(of, server(word=word()), secrets={SECRET: WHOLE}))
    assert why(decision).startswith("ErrorSecretNotExist: there is no Secret keys in namespace default")
    assert (decision.look_again, decision.errands) == (5.0, ())
    copied = decoded({"conditions": [{"type": "Synced", "status": "True", "reason": "x"}]}, source=source)
    assert "Secret keys" not in why(plan(seen(copied, server(word=word()), secrets={SECRET: WHOLE})))


@pytest.mark.parametrize("phase", ["PartialReady", "Ready"])
def test_a_set_whose_data_was_there_is_never_less_than_partial_ready(phase: str) -> None:
    """What the API server refuses to change depends on it."""
    of = decoded({"phase": phase, "conditions": [{"type": "Synced", "status": "True", "reason": "x"}]})
    for snapshot in (seen(of), seen(of, server(ready=False)), seen(of, volume=None, claim=None)):
        assert status_of(plan(snapshot)).phase == "PartialReady"


def test_a_set_without_its_secret_makes_nothing_and_one_that_loses_it_goes_on() -> None:
    decision = plan(seen(secrets={SECRET: None}, volume=None, claim=None, stateful_set=None))
    assert (pieces(decision), decision.look_again) == ([], 5.0)
    assert [notice.reason for notice in decision.notices] == ["ErrorSecretNotExist"]
    lost = plan(warm(secrets={SECRET: None}))
    assert (status_of(lost).phase, lost.delete, "StatefulSet" in pieces(lost)) == ("PartialReady", (), True)


BAD: dict[str, Manifest] = {
    "no partitions": {"partitions": 0},
    "too many partitions": {"partitions": 1_000_000},
    "source and sources": {"sources": [SOURCE]},
    "no source": {"source": None},
    "an option that is several": {"csi": {"driver": "juicefs", "juiceFSMountOptions": {"sub-dir": "a,allow_other"}}},
    "a cache that leads elsewhere": {"cache": {"levels": [{"mediumType": "SSD", "path": "/data/../etc"}]}},
    "a cache that is no directory": {"cache": {"levels": [{"mediumType": "SSD", "path": "data"}]}},
}


@pytest.mark.parametrize("spec", BAD.values(), ids=BAD.keys())
def test_a_set_that_cannot_work_is_refused_in_a_sentence_and_nothing_is_made(spec: Manifest) -> None:
    decision = plan(seen(decoded(**spec), volume=None, claim=None))
    assert decision.refusal is not None
    assert decision.refusal.reason == "Invalid"
    assert (pieces(decision), decision.errands) == ([], ())


TURNS: dict[str, tuple[Callable[[], Snapshot], list[str]]] = {
    "the order to copy": (lambda: synced(Standing.RUNNING), ["CreateSyncJobSuccessfully"]),
    "the data is there": (lambda: synced(Standing.SUCCEEDED), ["DoSyncJobSuccessfully"]),
    "the copy failed": (lambda: synced(Standing.FAILED, minutes_ago=0), ["ErrorDoSyncJob!"]),
    "there is no Secret": (lambda: seen(secrets={SECRET: None}, volume=None, claim=None), ["ErrorSecretNotExist!"]),
    "it is ready": (lambda: replace(warm(), sample_set=decoded(noSync=True, source=None)), ["Ready"]),
}


@pytest.mark.parametrize(("made", "told"), TURNS.values(), ids=TURNS.keys())
def test_each_turn_is_told_in_an_event_once(made: Callable[[], Snapshot], told: list[str]) -> None:
    snapshot = made()
    assert [one.reason + "!" * one.warning for one in plan(snapshot).notices] == told
    assert plan(after(snapshot)).notices == ()


def test_when_to_try_again_is_when_to_look_again() -> None:
    assert plan(synced(Standing.FAILED, minutes_ago=0)).look_again == 10.0
    assert plan(synced(*[Standing.FAILED] * 9, minutes_ago=0)).look_again == 60.0
    assert plan(seen()).look_again == 60.0


@pytest.mark.parametrize(("seconds_ago", "again"), [(5, 10.0), (15, 30.0), (500, 30.0)])
def test_a_server_that_does_not_start_is_looked_at_again_and_told_with_what_its_node_says(
    seconds_ago: int, again: float
) -> None:
    began = (NOON - dt.timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "Z")
    pod = {**server().pod.manifest, "status": {"phase": "Pending", "startTime": began}}
    decision = plan(seen(None, replace(runtime(pod, 0), hindrance="the password is wrong")))
    assert decision.look_again == again
    assert why(decision).endswith("0 of 1 runtime servers are ready; imagenet-runtime-0: the password is wrong")


def test_a_claim_that_was_deleted_is_let_go_when_no_job_needs_it() -> None:
    snapshot = seen()
    assert snapshot.claim is not None
    going = {**snapshot.claim, "metadata": {**snapshot.claim["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}}
    used = plan(seen(claim=going, users=("PaddleJob train",)))
    assert (used.delete, why(used)) == (
        (), "ClaimDeleted: claim imagenet was deleted; it is made anew when it is gone, after PaddleJob train"
    )  # fmt: skip
    assert [piece for piece, _ in plan(seen(claim=going)).delete] == [Piece.STATEFUL_SET]
    released = plan(seen(claim=None))
    assert ([piece for piece, _ in released.delete], released.create) == ([Piece.VOLUME], ())


def test_a_volume_made_for_other_options_is_made_anew_as_long_as_it_is_free() -> None:
    other = decoded(cache={"levels": [{"mediumType": "SSD", "path": "/data"}]})
    volume = seen(other).volume
    assert volume is not None
    free = {**volume, "spec": {**volume["spec"], "claimRef": {}}}
    assert [piece for piece, _ in plan(seen(volume=free, claim=None)).delete] == [Piece.VOLUME]


@pytest.mark.parametrize(
    ("minutes", "alive", "struck"),
    [
        pytest.param(1, False, 1, id="its node is silent"),
        pytest.param(1, True, 0, id="its node lives"),
        pytest.param(0, False, 0, id="its time is not over"),
    ],
)
def test_a_deleted_server_is_struck_off_only_when_its_node_is_dead(minutes: int, struck: int, *, alive: bool) -> None:
    deleted = (NOON - dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = node("node-0") if alive else {**node("node-0"), "status": {}}
    decision = plan(seen(None, server(deleted=deleted), nodes={"node-0": place}))
    assert len(decision.strike) == struck


LEFT = (Piece.STATEFUL_SET, Piece.CLAIM, Piece.VOLUME)


def ending(*runtimes: Runtime, **others: object) -> Snapshot:
    """Give a set that was deleted at ten, and that nobody has used since noon."""
    metadata = {"deletionTimestamp": "2026-01-01T10:00:00Z", "generation": 2}
    unused = {"type": "InUse", "status": "False", "lastTransitionTime": "2026-01-01T12:00:00Z"}
    return seen(decoded({"phase": "Ready", "conditions": [unused]}, metadata), *runtimes, **others)


def test_a_set_that_ends_empties_its_caches_first_and_then_takes_all_away() -> None:
    decision = plan(ending(server(word=word()), nodes={"node-0": node("node-0", **{OWN: "imagenet-runtime-0"})}))
    assert (orders(decision), decision.delete) == ([("imagenet-runtime-0", "clear")], ())
    assert decision.labels == (("node-0", {OWN: None}),)
    cleared = word(**{decision.errands[0].id: work("clear")})
    decision = plan(ending(server(word=cleared)))
    assert (decision.errands, tuple(piece for piece, _ in decision.delete)) == ((), LEFT)
    assert why(decision).startswith(
        "Terminating: it is being deleted: waits for the end of StatefulSet imagenet-runtime"
    )
    kept = plan(ending(server(word=cleared), remains=tuple(f"Pod train-{number}" for number in range(6))))
    named = ", ".join(f"Pod train-{number}" for number in range(5))
    assert why(kept).endswith(f", which is kept for {named} …: delete these, or their jobs")


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(lambda: ending(server(ready=False)), id="a server is not ready"),
        pytest.param(lambda: ending(server(word=word()), has_token=False), id="the token is gone"),
        pytest.param(lambda: ending(replace(server(), trouble="refused")), id="a server does not answer"),
        pytest.param(lambda: ending(server(word=Word(mounted=False))), id="a server has no mount"),
        pytest.param(lambda: ending(server(word=word()), now=NOON + dt.timedelta(minutes=2)), id="it takes too long"),
        pytest.param(lambda: ending(secrets={SECRET: None}), id="the Secret is gone"),
    ],
)
def test_what_cannot_be_asked_keeps_no_set_from_ending(snapshot: Callable[[], Snapshot]) -> None:
    assert tuple(piece for piece, _ in plan(snapshot()).delete) == LEFT


def test_a_set_is_let_go_only_when_its_volume_is_gone_and_its_labels_are_removed() -> None:
    nothing: dict[str, object] = {"volume": None, "claim": None, "stateful_set": None}
    gone = plan(ending(**nothing))
    assert (gone.finalizers, gone.status, gone.delete) == ((), None, ())
    for left in ({**nothing, "volume": seen().volume}, {**nothing, "nodes": {"a": node("a", **{OWN: "x"})}}):
        assert plan(ending(**left)).finalizers is None


def test_what_is_being_deleted_already_is_not_deleted_again() -> None:
    volume = seen().volume
    assert volume is not None
    going = {**volume, "metadata": {**volume["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}}
    decision = plan(ending(volume=going, claim=None, stateful_set=None))
    assert (decision.delete, decision.finalizers) == ((), None)


def test_a_set_in_use_waits_and_keeps_everything() -> None:
    decision = plan(ending(server(word=word()), users=("PaddleJob train",)))
    assert (decision.delete, decision.errands, decision.labels, decision.finalizers) == ((), (), (), None)
    assert why(decision, "InUse") == "InUse: it is being deleted, and waits for PaddleJob train to end"


def test_fewer_partitions_wait_until_the_caches_given_up_are_empty() -> None:
    of = decoded(noSync=True, source=None)
    decision = plan(seen(of, server(0, word=word()), server(1, word=word())))
    assert replicas(decision) == 2
    assert ("imagenet-runtime-1", "clear") in orders(decision)
    (clear,) = [errand.id for errand in decision.errands if errand.order["type"] == "clear"]
    decision = plan(seen(of, server(0, word=word()), server(1, word=word(**{clear: work("clear")}))))
    assert replicas(decision) == 1
    assert replicas(plan(seen(of, server(0, word=word()), server(1, ready=False)))) == 1


def test_what_runs_on_a_server_that_is_given_up_is_cancelled_so_that_its_cache_is_emptied() -> None:
    busy = word(sync_1=work("sync", Standing.RUNNING), warmup_1=work("warmup", Standing.QUEUED), rmr_1=work("rmr"))
    fewer = plan(seen(decoded(noSync=True, source=None), server(0, word=word()), server(1, word=busy)))
    for decision, name in ((plan(ending(server(word=busy))), "0"), (fewer, "1")):
        given = [(one.id, one.order) for one in decision.errands if one.pod == f"imagenet-runtime-{name}"]
        assert given[:2] == [("sync-1", {}), ("warmup-1", {})]
        assert [order for _, order in given[2:] if order["type"] != "warmup"] == [{"type": "clear", "forget": True}]


def test_a_server_that_is_given_up_and_does_not_begin_to_empty_its_cache_goes_all_the_same() -> None:
    of = decoded(noSync=True, source=None)
    first = plan(seen(of, server(0, word=word()), server(1, word=word())))
    (clear,) = [errand.id for errand in first.errands if errand.order["type"] == "clear"]
    for minutes, left in ((0, 2), (2, 1)):
        waits = word(**{clear: work("clear", Standing.QUEUED, minutes_ago=minutes)})
        assert replicas(plan(seen(of, server(0, word=word()), server(1, word=waits)))) == left


@pytest.mark.parametrize("sick", [server(0), server(0, ready=False), server(0, word=Word(mounted=False))])
def test_a_sick_server_keeps_no_other_from_coming(sick: Runtime) -> None:
    """The original asked all servers for figures before it changed their number."""
    assert replicas(plan(seen(decoded(partitions=5), sick))) == 5


def replicas(decision: Decision) -> int:
    (found,) = [manifest for piece, manifest in decision.apply if piece is Piece.STATEFUL_SET]
    return int(found["spec"]["replicas"])


def test_a_cache_that_was_emptied_since_is_warmed_up_anew() -> None:
    of = decoded(noSync=True, source=None)
    (errand,) = plan(seen(of, server(word=word()))).errands
    works = {errand.id: work("warmup", minutes_ago=5), "clear-1": work("clear", minutes_ago=1)}
    (again,) = plan(seen(of, server(word=word(**works)))).errands
    assert (again.order, again.id) == (errand.order, f"{errand.id[:-1]}1")


def test_a_warm_cache_that_was_emptied_by_order_is_told_as_such_until_it_is_warmed_up_by_another() -> None:
    ready = warm(2)
    works = dict(ready.runtimes[1].word.works) if ready.runtimes[1].word else {}

    def told(snapshot: Snapshot, *minutes_ago: tuple[str, int]) -> Snapshot:
        more = {f"job-{number}": work(kind, minutes_ago=ago) for number, (kind, ago) in enumerate(minutes_ago)}
        return after(snapshot, runtimes={**ready.runtimes, 1: server(1, word=word(**works, **more))})

    emptied = told(ready, ("clear", 0))
    assert (emptied.before.phase, warmth(emptied)) == (
        "Ready",
        "Emptied: emptied by order since the warm-up: partition 1",
    )
    assert plan(emptied).errands == ()
    unheard = after(emptied, runtimes={0: server(0), 1: server(1)})
    assert warmth(unheard) == warmth(emptied)
    assert warmth(told(emptied, ("clear", 0), ("warmup", -1))) == "WarmedUp: 2 of 2 partitions are warmed up"


def warmth(snapshot: Snapshot) -> str:
    return why(plan(snapshot), "Warm")
