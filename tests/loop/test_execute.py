"""A plan is written in its order: what belongs together side by side, each write for itself, the status last."""

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.control import execute
from paddle_operator.control.execute import Executor, ForeignObjectError
from paddle_operator.control.lease import LeadershipLostError
from paddle_operator.control.outcome import Done, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.control.store import Store
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.config import Config
from paddle_operator.kube.events import Event, Recorder
from paddle_operator.kube.request import Kind, Preconditions, Request
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS, PARENTS
from support.mishaps import Fault, Mishap

from .conftest import MARK

MAPS = "configmaps"
NAMES = ["a", "b", "c"]


class Held(Client):
    """Lets nothing through until told to, and counts what waits."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, "tester")
        self.gate = asyncio.Event()
        self.in_flight = 0
        self.most = 0

    async def send(self, asked: Request) -> Manifest:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await self.gate.wait()
            return await super().send(asked)
        finally:
            self.in_flight -= 1


@pytest.fixture
async def held(api: Api) -> AsyncIterator[Held]:
    async with Held(api.config) as opened:
        yield opened


def executor(client: Client, *parents: Manifest) -> Executor:
    """Give one that watches these parents, and nothing else."""
    store = Store()
    store.replace(list(parents))
    return Executor(client, {PARENTS: store} if parents else {}, Recorder(client, "tester"), MARK)


def config_map(name: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {}}


def creating(*names: str) -> tuple[Create, ...]:
    return tuple(Create(CONFIG_MAPS, config_map(name)) for name in names)


def applying(*names: str, **data: str) -> tuple[Apply, ...]:
    return tuple(Apply(CONFIG_MAPS, {**config_map(name), "data": data}) for name in names)


def status_of(parent: Manifest) -> Status:
    return Status(PARENTS, parent, {"children": 1})


def stalled(api: Api) -> list[str]:
    return [condition["reason"] for condition in api.get("parents", "default", "ada")["status"].get("conditions", [])]


async def test_one_line_of_the_plan_ends_before_the_next_begins(api: Api, client: Client) -> None:
    parent = api.put("parents", family.parent("ada"))
    goes = [api.put(MAPS, config_map(f"goes-{number}")) for number in range(9)]
    plan = Plan(
        patch=(Patch(PARENTS, key_of(parent), {"metadata": {"finalizers": ["example.org/ours"]}}),),
        apply=applying(*(f"applied-{number}" for number in range(9))),
        create=creating(*(f"created-{number}" for number in range(9))),
        delete=tuple(Delete.of(CONFIG_MAPS, manifest) for manifest in goes),
        status=status_of(parent),
    )
    assert await executor(client, parent).execute(plan) == Done()
    written = [write.split("-")[0] for write in api.writes]
    lines = ["POST configmaps/applied", "POST configmaps/created", "DELETE configmaps/goes"]
    assert written == ["PATCH parents/ada", *(line for line in lines for _ in range(9)), "PATCH parents/ada/status"]


async def test_one_plan_does_not_take_all_there_is_and_all_plans_no_more_than_that(held: Held) -> None:
    shared = executor(held)
    plans = [Plan(create=creating(*(f"{name}-{number}" for number in range(40)))) for name in NAMES]
    first = asyncio.create_task(shared.execute(plans[0]))
    await eventually(lambda: held.in_flight == execute.AT_ONCE_PER_PLAN)
    others = [asyncio.create_task(shared.execute(plan)) for plan in plans[1:]]
    await eventually(lambda: held.in_flight == execute.AT_ONCE)
    held.gate.set()
    assert await asyncio.gather(first, *others) == [Done()] * 3
    assert held.most == execute.AT_ONCE


async def test_a_failed_create_keeps_no_other_from_being_made_and_is_tried_again(api: Api, client: Client) -> None:
    """As with a quota: as many as fit are there, the reason is told, and the rest comes when there is room."""
    parent = api.put("parents", family.parent("ada"))
    plan = Plan(create=creating(*NAMES), status=status_of(parent))
    api.fail("POST", MAPS, 1, 403, "Forbidden")
    with pytest.raises(errors.ForbiddenError):
        await executor(client).execute(plan)
    assert (len(api.names(MAPS)), stalled(api)) == (2, ["Forbidden"])
    assert await executor(client).execute(plan) == Done()
    assert (api.names(MAPS), stalled(api)) == (NAMES, [])


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ({"c": (500, "InternalError"), "b": (409, "Conflict")}, errors.ConflictError),
        ({"b": (500, "InternalError"), "c": (409, "Conflict")}, errors.ServerError),
        ({"a": (403, "Forbidden"), "b": (409, "Conflict")}, errors.ForbiddenError),
        ({"a": (422, "Invalid"), "c": (409, "Conflict")}, errors.ConflictError),
    ],
    ids=["the first in the plan", "whichever it is", "forbidden", "what can be tried again before what cannot"],
)
async def test_of_several_failures_one_is_told_and_always_the_same(
    api: Api, client: Client, faults: dict[str, tuple[int, str]], told: type[errors.ApiError]
) -> None:
    await executor(client).execute(Plan(apply=applying(*NAMES)))
    for name, (code, reason) in faults.items():
        api.fail("PATCH", f"{MAPS}/{name}", 10, code, reason)
    with pytest.raises(told):
        await executor(client).execute(Plan(apply=applying(*NAMES, value="new")))
    changed = [name for name in NAMES if api.get(MAPS, "default", name).get("data")]
    assert changed == [name for name in NAMES if name not in faults]


async def test_what_is_refused_for_good_is_told_once_all_the_others_are_written(api: Api, client: Client) -> None:
    parent = api.put("parents", family.parent("ada"))
    api.fail("POST", MAPS, 1, 422, "Invalid")
    outcome = await executor(client).execute(Plan(apply=applying(*NAMES), status=status_of(parent)))
    assert outcome == Terminal("Refused", "a fault made by the test", 300.0)
    assert (len(api.names(MAPS)), stalled(api)) == (2, ["Refused"])


@pytest.mark.parametrize(
    ("asked", "given"),
    [(20.0, 20.0), (4000.0, 300.0), (None, 300.0), (0.15, 15.0)],
    ids=["a deadline comes first", "a deadline comes later", "no deadline", "a plan in a hurry"],
)
async def test_what_is_refused_is_looked_at_when_the_plan_asks_for_it_and_rarely_by_itself(
    api: Api, client: Client, asked: float | None, given: float
) -> None:
    api.fail("POST", MAPS, 1, 422, "Invalid")
    outcome = await executor(client).execute(Plan(create=creating("a"), requeue_after=asked))
    assert outcome.look_again == given


async def test_a_plan_that_cannot_work_is_looked_at_when_it_asks_for_it(client: Client) -> None:
    terminal = Terminal("NoSuchRole", "there is no role named captain")
    outcome = await executor(client).execute(Plan(terminal=terminal, requeue_after=20.0))
    assert outcome == Terminal(terminal.reason, terminal.message, 20.0)


@pytest.mark.parametrize(
    ("mishap", "told"),
    [
        (Mishap(400, "BadRequest", message='admission webhook "x" denied it'), ["Refused"]),
        (Mishap(500, "InternalError", message='failed calling webhook "x": no endpoints'), ["WebhookFailed"]),
        (Mishap(500, "InternalError", message="etcd has no leader"), []),
    ],
    ids=["a webhook says no", "a webhook does not answer", "what passes by itself"],
)
async def test_what_a_webhook_does_is_told_in_its_words_and_tried_again(
    api: Api, client: Client, mishap: Mishap, told: list[str]
) -> None:
    parent = api.put("parents", family.parent("ada"))
    plan = Plan(create=creating("a"), status=status_of(parent))
    api.faults.append(Fault("POST", MAPS, 1, mishap))
    with pytest.raises(errors.ApiError, match=mishap.message):
        await executor(client).execute(plan)
    conditions = api.get("parents", "default", "ada")["status"].get("conditions", [])
    assert [found["reason"] for found in conditions if mishap.message in found["message"]] == told
    assert await executor(client).execute(plan) == Done()
    assert stalled(api) == []


async def test_a_failed_write_keeps_no_event_from_being_told_with_its_status(api: Api, client: Client) -> None:
    """A later plan finds in the status what happened, and has nothing to tell."""
    parent = api.put("parents", family.parent("ada"))
    recorder = Recorder(client, "tester")
    api.fail("POST", MAPS, 1, 403, "Forbidden")
    plan = Plan(create=creating("a"), status=status_of(parent), events=(Event(parent, "Grown", "it has a child"),))
    with pytest.raises(errors.ForbiddenError):
        await Executor(client, {}, recorder, MARK).execute(plan)
    await recorder.flush()
    assert [event["reason"] for event in api.all("events")] == ["Grown"]


async def test_an_event_waits_for_its_status(api: Api, client: Client) -> None:
    parent = api.put("parents", family.parent("ada"))
    recorder = Recorder(client, "tester")
    api.fail("PATCH", "parents/ada/status", 1, 403, "Forbidden")
    plan = Plan(status=status_of(parent), events=(Event(parent, "Grown", "it has a child"),))
    with pytest.raises(errors.ForbiddenError):
        await Executor(client, {}, recorder, MARK).execute(plan)
    await recorder.flush()
    assert api.all("events") == []


async def test_an_object_of_ours_that_lost_its_labels_is_told_of_and_not_made_again_at_once(
    api: Api, client: Client
) -> None:
    parent = api.put("parents", family.parent("ada"))
    pet = family.pet(parent, 0)
    api.put(MAPS, {**pet, "metadata": {**pet["metadata"], "labels": {}}})
    watching = Executor(client, {CONFIG_MAPS: Store()}, Recorder(client, "tester"), MARK)
    plan = Plan(create=(Create(CONFIG_MAPS, pet),), status=status_of(parent), status_later=True)
    with pytest.raises(ForeignObjectError, match="ConfigMap default/ada-pet-0 exists and lacks labels"):
        await watching.execute(plan)
    assert stalled(api) == ["NameTaken"]


async def test_an_object_of_ours_that_was_not_seen_yet_is_fine(api: Api, client: Client) -> None:
    parent = api.put("parents", family.parent("ada"))
    api.put(MAPS, family.pet(parent, 0))
    watching = Executor(client, {CONFIG_MAPS: Store()}, Recorder(client, "tester"), MARK)
    plan = Plan(create=(Create(CONFIG_MAPS, family.pet(parent, 0)),), status=status_of(parent), status_later=True)
    assert await watching.execute(plan) == Done(execute.LATER)


async def test_after_a_line_that_failed_nothing_more_is_made_and_what_is_to_go_goes(api: Api, client: Client) -> None:
    api.put(MAPS, config_map("b"))
    goes = api.put(MAPS, config_map("goes"))
    plan = Plan(apply=applying(*NAMES), create=creating("d"), delete=(Delete.of(CONFIG_MAPS, goes),))
    with pytest.raises(ForeignObjectError, match="ConfigMap default/b exists and is not ours"):
        await executor(client).execute(plan)
    assert api.names(MAPS) == NAMES


async def test_what_is_in_the_way_of_a_full_quota_goes_although_nothing_can_be_made(api: Api, client: Client) -> None:
    """Else a job that shrinks here and grows there would be stuck for ever."""
    parent = api.put("parents", family.parent("ada"))
    goes = api.put(MAPS, config_map("goes"))
    plan = Plan(create=creating("a"), delete=(Delete.of(CONFIG_MAPS, goes),), status=status_of(parent))
    api.fail("POST", MAPS, 1, 403, "Forbidden")
    with pytest.raises(errors.ForbiddenError):
        await executor(client).execute(plan)
    assert (api.names(MAPS), stalled(api)) == ([], ["Forbidden"])
    assert await executor(client).execute(plan) == Done()
    assert (api.names(MAPS), stalled(api)) == (["a"], [])


async def test_of_a_failure_to_make_and_one_to_delete_the_first_is_told(api: Api, client: Client) -> None:
    goes = api.put(MAPS, config_map("goes"))
    api.fail("POST", MAPS, 1, 403, "Forbidden")
    api.fail("DELETE", MAPS, 10, 500, "InternalError")
    with pytest.raises(errors.ForbiddenError):
        await executor(client).execute(Plan(create=creating("a"), delete=(Delete.of(CONFIG_MAPS, goes),)))


async def test_who_loses_the_lease_half_way_writes_nothing_more(api: Api, client: Client) -> None:
    def guard() -> None:
        if len(api.writes) >= 2:
            raise LeadershipLostError("lost")

    parent = api.put("parents", family.parent("ada"))
    plan = Plan(apply=applying(*(f"map-{number:02}" for number in range(40))), status=status_of(parent))
    with pytest.raises(LeadershipLostError):
        await executor(client.guarded(guard)).execute(plan)
    assert 2 <= len(api.writes) < 2 + execute.AT_ONCE_PER_PLAN, "only what was on its way arrived"
    assert "status" not in api.get("parents", "default", "ada")


async def test_nothing_goes_on_behind_a_plan_that_was_cancelled(api: Api, held: Held) -> None:
    task = asyncio.create_task(executor(held).execute(Plan(create=creating(*(f"m-{number}" for number in range(40))))))
    await eventually(lambda: held.in_flight == execute.AT_ONCE_PER_PLAN)
    before = asyncio.all_tasks()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    held.gate.set()
    assert (held.in_flight, api.writes) == (0, [])
    assert len(before - asyncio.all_tasks()) == 41


async def test_a_new_object_of_the_same_name_does_not_get_the_status_of_the_old(api: Api, client: Client) -> None:
    before = api.put("parents", family.parent("ada"))
    api.remove("parents", key_of(before))
    api.put("parents", family.parent("ada"))
    assert await executor(client).execute(Plan(status=status_of(before))) == Done()
    assert "status" not in api.get("parents", "default", "ada")


async def test_a_status_is_written_although_somebody_else_changed_the_object(api: Api, client: Client) -> None:
    before = api.put("parents", family.parent("ada"))
    api.put("parents", family.parent("ada", children=7))
    assert await executor(client).execute(Plan(status=status_of(before))) == Done()
    assert api.get("parents", "default", "ada")["status"] == {"children": 1}


async def test_a_status_is_whole_whoever_wrote_it_before_and_is_written_once(api: Api, client: Client) -> None:
    theirs = {"children": 7, "conditions": [{"type": "Scheduled", "status": "True"}]}
    parent = api.put("parents", {**family.parent("ada"), "status": theirs})
    shared = executor(client, parent)
    assert await shared.execute(Plan(status=status_of(parent))) == Done()
    assert api.get("parents", "default", "ada")["status"] == {"children": 1}
    before = len(api.writes)
    assert await shared.execute(Plan(status=status_of(parent))) == Done()
    assert (before, len(api.writes)) == (2, 2)


async def test_a_status_that_somebody_changes_between_two_writes_is_whole_at_the_end(api: Api) -> None:
    parent = api.put("parents", {**family.parent("ada"), "status": {"conditions": [{"type": "Scheduled"}]}})

    class Meddled(Client):
        async def patch(self, *args: Any, **kwargs: Any) -> Manifest:  # noqa: ANN401 as they come
            if len(api.writes) == 1:
                api.put("parents", family.parent("ada", children=9))
            return await super().patch(*args, **kwargs)

    async with Meddled(api.config, "tester") as meddled:
        assert await executor(meddled, parent).execute(Plan(status=status_of(parent))) == Done()
    found = api.get("parents", "default", "ada")
    assert (found["spec"]["children"], found["status"]) == (9, {"children": 1})


def taken_by_another(api: Api, store: Store) -> None:
    """Somebody else has put an object in the place of ours, and we have not heard of it yet."""
    store.replace([api.get(MAPS, "default", "a")])
    api.remove(MAPS, Key("default", "a"))
    api.put(MAPS, {**config_map("a"), "data": {"mine": "yes"}})


async def test_what_took_the_place_of_ours_unseen_is_not_overwritten(api: Api, client: Client) -> None:
    store = Store()
    await executor(client).execute(Plan(apply=applying("a")))
    taken_by_another(api, store)
    changed = Apply(CONFIG_MAPS, {**config_map("a"), "data": {"ours": "yes"}})
    with pytest.raises(errors.ConflictError):
        await Executor(client, {CONFIG_MAPS: store}, Recorder(client, "tester"), MARK).execute(Plan(apply=(changed,)))
    assert api.get(MAPS, "default", "a")["data"] == {"mine": "yes"}


async def test_a_list_is_not_written_over_what_somebody_added_meanwhile(api: Api, client: Client) -> None:
    observed = copy.deepcopy(api.put(MAPS, config_map("a")))
    patch = Patch.of(CONFIG_MAPS, observed, {"metadata": {"finalizers": ["example.org/ours"]}})
    api.put(MAPS, {**config_map("a"), "metadata": {**config_map("a")["metadata"], "finalizers": ["example.org/other"]}})
    with pytest.raises(errors.ConflictError):
        await executor(client).execute(Plan(patch=(patch,)))
    assert api.get(MAPS, "default", "a")["metadata"]["finalizers"] == ["example.org/other"]


async def test_what_exists_and_is_gone_when_looked_at_is_tried_again(api: Api, client: Client) -> None:
    api.fail("POST", MAPS, 1, 409, "AlreadyExists")
    plan = Plan(create=creating("a"))
    with pytest.raises(errors.AlreadyExistsError):
        await executor(client).execute(plan)
    assert await executor(client).execute(plan) == Done()
    assert api.names(MAPS) == ["a"]


async def test_what_was_made_and_then_changed_loses_what_is_given_up(api: Api, client: Client) -> None:
    shared = executor(client)
    await shared.execute(Plan(apply=applying("a", keep="1", drop="2")))
    await shared.execute(Plan(apply=applying("a", keep="1")))
    await shared.execute(Plan(apply=applying("a", keep="3")))
    assert api.get(MAPS, "default", "a")["data"] == {"keep": "3"}
    assert api.writes == ["POST configmaps/a", *["PATCH configmaps/a"] * 3], "who set what is put right once, no more"


async def test_an_object_of_others_that_nobody_showed_us_is_not_touched(api: Api, client: Client) -> None:
    foreign = api.put(MAPS, config_map("a"))
    with pytest.raises(ForeignObjectError, match="ConfigMap default/a exists and is not ours"):
        await executor(client).execute(Plan(apply=applying("a", value="ours")))
    assert api.get(MAPS, "default", "a") == foreign


def watching(client: Client, kind: Kind, *manifests: Manifest) -> Executor:
    """Give an executor that has seen these objects of a kind."""
    store = Store()
    store.replace(copy.deepcopy(list(manifests)))
    return Executor(client, {kind: store}, Recorder(client, "tester"), MARK)


async def test_what_is_so_already_is_not_patched(api: Api, client: Client) -> None:
    observed = api.put(MAPS, {**config_map("a"), "data": {"is": "so"}})
    plan = Plan(patch=(Patch(CONFIG_MAPS, key_of(observed), {"data": {"is": "so"}}),))
    assert await watching(client, CONFIG_MAPS, observed).execute(plan) == Done()
    assert api.writes == []


@pytest.mark.parametrize("ours", [True, False])
async def test_what_exists_is_not_created_and_must_be_ours(api: Api, client: Client, *, ours: bool) -> None:
    owner = {"apiVersion": "v1", "kind": "Parent", "name": "ada", "uid": "u-1" if ours else "u-2", "controller": True}
    observed = config_map("a")
    observed["metadata"]["ownerReferences"] = [owner]
    wanted = copy.deepcopy(observed)
    wanted["metadata"]["ownerReferences"][0]["uid"] = "u-1"
    executing = watching(client, CONFIG_MAPS, api.put(MAPS, observed)).execute(
        Plan(create=(Create(CONFIG_MAPS, wanted),))
    )
    with contextlib.nullcontext() if ours else pytest.raises(ForeignObjectError):
        await executing
    assert api.writes == []


async def test_what_goes_with_ours_is_ours_whoever_controls_it(api: Api, client: Client) -> None:
    """Fluid makes itself an owner of what others made for it."""
    ours, theirs, another = (owner(api.put(MAPS, config_map(name))) for name in NAMES)
    shared = config_map("shared")
    both = [ours, {**theirs, "controller": True}]
    api.put(MAPS, {**shared, "metadata": {**shared["metadata"], "ownerReferences": both}})

    async def create(reference: Manifest) -> None:
        wanted = {**shared, "metadata": {**shared["metadata"], "ownerReferences": [reference]}}
        await executor(client).execute(Plan(create=(Create(CONFIG_MAPS, wanted),)))

    await create(ours)
    with pytest.raises(ForeignObjectError):
        await create(another)


def owner(manifest: Manifest) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": key_of(manifest).name, "uid": uid_of(manifest)}


async def test_a_delete_is_done_when_the_object_is_gone_already(api: Api, client: Client) -> None:
    observed = copy.deepcopy(api.put(MAPS, config_map("a")))
    plan = Plan(delete=(Delete.of(CONFIG_MAPS, observed),))
    api.remove(MAPS, Key("default", "a"))
    assert await executor(client).execute(plan) == Done()
    api.put(MAPS, config_map("a"))
    assert await executor(client).execute(plan) == Done()
    assert api.names(MAPS) == ["a"], "a later object of the name is not the one that was meant"


async def test_a_delete_of_one_version_fails_when_it_has_changed(api: Api, client: Client) -> None:
    observed = copy.deepcopy(api.put(MAPS, config_map("a")))
    api.put(MAPS, {**config_map("a"), "data": {"new": "yes"}})
    preconditions = Preconditions(uid_of(observed), version_of(observed))
    with pytest.raises(errors.ConflictError):
        await executor(client).execute(Plan(delete=(Delete(CONFIG_MAPS, key_of(observed), preconditions),)))
    assert api.names(MAPS) == ["a"]
