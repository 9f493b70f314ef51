"""The manager starts in order, tells how it is, and stops in order."""

import asyncio
import os
import signal
from dataclasses import replace

import aiohttp
import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control import process
from paddle_operator.control.calls import Call, Caller
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.health import Address, parse_address
from paddle_operator.control.lease import LeadershipLostError, Timing
from paddle_operator.control.manager import Election, Manager, Settings
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.plan import Plan
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Event
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import FAMILY, PARENTS

from .conftest import MARK, QUICK

ANYWHERE = Address("127.0.0.1", 0)
LEASE = Key("default", "manager")


async def fetch(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.text()


async def test_it_is_ready_once_everything_is_listed(api: Api, client: Client, unused_tcp_port: int) -> None:
    api.fail("GET", "parents", 1_000_000, 500, "InternalError")
    address = Address("127.0.0.1", unused_tcp_port)
    settings = Settings(MARK, pace=QUICK, health_address=address, metrics_address=address)
    stop = asyncio.Event()
    manager = Manager(client, [FAMILY], settings)
    task = asyncio.create_task(manager.run(stop))
    await eventually(lambda: manager.caches.missing == ["parents"])
    assert await fetch(unused_tcp_port, "/healthz") == (200, "ok\n")
    assert await fetch(unused_tcp_port, "/readyz") == (503, "not listed yet: parents\n")
    api.faults.clear()
    await eventually(lambda: not manager.caches.missing)
    assert await fetch(unused_tcp_port, "/readyz") == (200, "ok\n")
    api.put("parents", family.parent("ada"))
    await eventually(lambda: manager.metrics._reconciles.labels("family", "done")._value.get() >= 1)
    api.cut_watches()
    await eventually(lambda: manager.metrics._restarts.labels("parents")._value.get() >= 1)
    await eventually(lambda: len(api.watches) == 2)
    api.send("parents", b"odd\n")
    await eventually(lambda: manager.metrics._skipped.labels("parents")._value.get() == 1)
    status, counted = await fetch(unused_tcp_port, "/metrics")
    assert status == 200
    assert 'controller_queue_depth{controller="family"}' in counted
    assert 'controller_reconciles_total{controller="family",result="done"}' in counted
    assert 'kube_watch_restarts_total{resource="parents"}' in counted
    assert 'kube_objects_skipped_total{resource="parents"} 1.0' in counted
    stop.set()
    await asyncio.wait_for(task, 5)


async def test_how_long_each_reconcile_took_and_what_is_tried_again_is_counted(
    api: Api, client: Client, unused_tcp_port: int
) -> None:
    outcomes = [errors.UnreachableError("not now"), None]

    async def second_time_lucky(_: World, __: Key) -> Outcome:
        if (failure := outcomes.pop(0)) is not None:
            raise failure
        return Done()

    api.put("parents", family.parent("ada"))
    settings = Settings(MARK, pace=QUICK, metrics_address=Address("127.0.0.1", unused_tcp_port))
    stop = asyncio.Event()
    manager = Manager(client, [Controller("lucky", (Trigger(PARENTS),), second_time_lucky)], settings)
    task = asyncio.create_task(manager.run(stop))
    await eventually(lambda: manager.metrics._reconciles.labels("lucky", "done")._value.get() == 1)
    counted = (await fetch(unused_tcp_port, "/metrics"))[1].splitlines()
    of = 'controller="lucky"'
    assert f"controller_reconcile_duration_seconds_count{{{of}}} 2.0" in counted
    assert f'controller_reconcile_duration_seconds_bucket{{{of},le="+Inf"}} 2.0' in counted
    assert [line for line in counted if line.startswith(f"controller_reconcile_duration_seconds_sum{{{of}}} ")]
    assert f"controller_retries_total{{{of}}} 1.0" in counted
    assert f'controller_reconciles_total{{{of},result="error"}} 1.0' in counted
    stop.set()
    await asyncio.wait_for(task, 5)


async def test_two_controllers_that_give_an_index_the_same_name_are_refused_at_the_start(client: Client) -> None:
    with pytest.raises(ValueError, match="there is an index owner already"):
        Manager(client, [FAMILY, replace(FAMILY, name="other")], Settings(MARK))


@pytest.mark.parametrize("elected", [True, False])
async def test_what_is_in_work_may_end_when_asked_to_stop(api: Api, client: Client, *, elected: bool) -> None:
    began, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(_: World, __: Key) -> Outcome:
        began.set()
        await may_end.wait()
        ended.set()
        return Done()

    api.put("parents", family.parent("ada"))
    election = Election(LEASE, "first") if elected else None
    stop = asyncio.Event()
    manager = Manager(client, [Controller("slow", (Trigger(PARENTS),), slow)], Settings(MARK, "", election, pace=QUICK))
    task = asyncio.create_task(manager.run(stop))
    await began.wait()
    stop.set()
    await eventually(lambda: manager.loops[0].queue._closed)
    assert not task.done()
    may_end.set()
    await asyncio.wait_for(task, 5)
    assert ended.is_set()
    if elected:
        assert api.get("leases", "default", "manager")["spec"]["holderIdentity"] == ""


async def test_what_does_not_end_is_ended(api: Api, client: Client) -> None:
    began = asyncio.Event()

    async def stuck(_: World, __: Key) -> Outcome:
        began.set()
        await asyncio.Event().wait()
        return Done()

    api.put("parents", family.parent("ada"))
    stop = asyncio.Event()
    controllers = [Controller("stuck", (Trigger(PARENTS),), stuck)]
    task = asyncio.create_task(Manager(client, controllers, Settings(MARK, grace=0.05, pace=QUICK)).run(stop))
    await began.wait()
    stop.set()
    await asyncio.wait_for(task, 5)


async def test_who_loses_the_lease_stops_at_once_and_says_so(api: Api, client: Client) -> None:
    election = Election(LEASE, "first", Timing(15.0, 10.0, 0.05))
    manager = Manager(client, [FAMILY], Settings(MARK, "", election, pace=QUICK))
    task = asyncio.create_task(manager.run(asyncio.Event()))
    api.put("parents", family.parent("ada"))
    await eventually(lambda: len(api.names("configmaps")) == 3)
    api.put("leases", {"metadata": {"name": "manager", "namespace": "default"}, "spec": {"holderIdentity": "thief"}})
    with pytest.RaisesGroup(LeadershipLostError):
        await asyncio.wait_for(task, 30)
    writes = len(api.writes)
    api.put("parents", family.parent("eve"))
    assert len(api.writes) == writes


def talkative(call: Caller, orders: int) -> Controller:
    """Give a controller that orders something of another server so many times, and tells of it in an event."""

    async def reconcile(world: World, key: Key) -> Outcome:
        observed = world.stores[PARENTS].get(key)
        assert observed is not None
        calls = tuple(Call("server", str(number), {}) for number in range(orders))
        return await world.execute(Plan(calls=calls, events=(Event(observed, "Ordered", "all of it"),)))

    return Controller("talkative", (Trigger(PARENTS),), reconcile, call=call)


async def test_who_loses_the_lease_half_way_orders_nothing_more_of_other_servers(api: Api, client: Client) -> None:
    taken: list[str] = []

    async def take(call: Call) -> None:
        taken.append(call.id)
        if len(taken) == 2:
            assert manager._elector is not None
            manager._elector._renewed_at = float("-inf")

    api.put("parents", family.parent("ada"))
    settings = Settings(MARK, "", Election(LEASE, "first", Timing(15.0, 10.0, 0.02)), pace=QUICK)
    manager = Manager(client, [talkative(take, 40)], settings)
    with pytest.RaisesGroup(LeadershipLostError):
        await asyncio.wait_for(manager.run(asyncio.Event()), 30)
    assert taken == ["0", "1"]
    assert api.names("events") == []


async def test_who_lost_the_lease_tells_nothing_more_in_events(api: Api, client: Client) -> None:
    manager = Manager(client, [], Settings(MARK, "", Election(LEASE, "first"), pace=QUICK))
    manager._recorder.record(Event(api.put("parents", family.parent("ada")), "Grown", "all are there"))
    await manager._recorder.flush()
    assert (api.writes, api.names("events")) == ([], [])


@pytest.mark.parametrize("elected", [True, False])
async def test_what_was_told_last_is_written_before_it_stops(api: Api, client: Client, *, elected: bool) -> None:
    stop = asyncio.Event()

    async def take(_: Call) -> None:
        stop.set()

    api.put("parents", family.parent("ada"))
    election = Election(LEASE, "first") if elected else None
    manager = Manager(client, [talkative(take, 1)], Settings(MARK, "", election, pace=QUICK))
    await asyncio.wait_for(manager.run(stop), 5)
    assert [api.get("events", "default", name)["reason"] for name in api.names("events")] == ["Ordered"]


async def test_who_waits_for_the_lease_writes_nothing_and_stops_when_asked(api: Api, client: Client) -> None:
    lease = {"metadata": {"name": "manager", "namespace": "default"}}
    api.put("leases", {**lease, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 60}})
    api.put("parents", family.parent("ada"))
    stop = asyncio.Event()
    manager = Manager(client, [FAMILY], Settings(MARK, "", Election(LEASE, "second"), pace=QUICK))
    task = asyncio.create_task(manager.run(stop))
    await eventually(lambda: not manager.caches.missing)
    assert api.writes == []
    stop.set()
    await asyncio.wait_for(task, 5)


async def test_who_waits_for_the_lease_keeps_no_keys_and_then_looks_at_all_there_is(api: Api, client: Client) -> None:
    lease = {"metadata": {"name": "manager", "namespace": "default"}}
    api.put("leases", {**lease, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 60}})
    api.put("parents", family.parent("before"))
    election = Election(LEASE, "second", Timing(15.0, 10.0, 0.02))
    manager = Manager(client, [FAMILY], Settings(MARK, "", election, pace=QUICK))
    task = asyncio.create_task(manager.run(asyncio.Event()))
    await eventually(lambda: not manager.caches.missing)
    for number in range(20):
        api.put("parents", family.parent(f"gone-{number}"))
        api.remove("parents", Key("default", f"gone-{number}"))
    api.put("parents", family.parent("meanwhile"))
    await eventually(lambda: len(manager.caches.stores[PARENTS]) == 2)
    assert manager.loops[0].queue.depth == 0
    api.put("leases", {**lease, "spec": {"holderIdentity": ""}})
    await eventually(lambda: len(api.names("configmaps")) == 6)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("part", ["worker", "election"])
async def test_a_part_that_breaks_ends_the_manager_with_its_own_error(
    api: Api, client: Client, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than to go on without it, or to call it a lost lease."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    api.put("parents", family.parent("ada"))
    manager = Manager(
        client, [FAMILY], Settings(MARK, "", Election(LEASE, "first", Timing(15.0, 10.0, 0.02)), pace=QUICK)
    )
    if part == "worker":
        monkeypatch.setattr(manager.loops[0].queue, "done", broken)
    else:
        monkeypatch.setattr(manager._elector, "_held_by_another", broken)
    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        await asyncio.wait_for(manager.run(asyncio.Event()), 30)


@pytest.mark.parametrize("elected", [True, False])
async def test_it_stops_when_asked_also_before_everything_is_listed(api: Api, client: Client, *, elected: bool) -> None:
    api.fail("GET", "parents", 1_000_000, 500, "InternalError")
    election = Election(LEASE, "first") if elected else None
    stop = asyncio.Event()
    manager = Manager(client, [FAMILY], Settings(MARK, "", election, pace=QUICK))
    task = asyncio.create_task(manager.run(stop))
    await eventually(lambda: manager.caches.missing == ["parents"])
    stop.set()
    await asyncio.wait_for(task, 5)
    assert manager.loops[0].queue.depth == 0


async def test_the_second_signal_ends_it_at_once() -> None:
    began = asyncio.Event()

    async def run() -> None:
        with process.signals(asyncio.Event()):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run())
    await began.wait()
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_the_first_signal_asks_to_stop() -> None:
    stop = asyncio.Event()
    with process.signals(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":8080", Address(None, 8080)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:80", Address("::1", 80)),
        ("0", None),
        ("", None),
    ],
)
def test_an_address_is_read(text: str, expected: Address | None) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["8080", ":http", ":99999", "localhost"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no address: write :8080"):
        parse_address(text)
