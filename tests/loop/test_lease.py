"""Of several managers one acts; the next one starts only after the last has stopped."""

import asyncio
import time
from dataclasses import replace
from datetime import datetime

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.lease import LEASES, Elector, LeadershipLostError, Timing, next_spec
from paddle_operator.kube.client import Client
from support.embeddedapi import Api
from support.eventually import eventually

LEASE = Key("default", "manager")
QUICK = Timing(duration=3.0, renew_deadline=2.4, retry_period=0.05)
# For what is not about losing it: a busy machine may keep a holder from renewing.
UNHURRIED = Timing(duration=60.0, renew_deadline=50.0, retry_period=0.05)
# What a machine that is busy otherwise may add.
GENEROUS = 10.0


def elector(client: Client, name: str, timing: Timing = QUICK) -> Elector:
    return Elector(client, LEASE, name, timing)


def holder(api: Api) -> str:
    return str(api.get("leases", "default", "manager")["spec"]["holderIdentity"])


async def test_the_first_holds_it_and_the_second_waits_until_it_is_released(api: Api, client: Client) -> None:
    first, second = elector(client, "first", UNHURRIED), elector(client, "second", UNHURRIED)
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire())
    version = api.version
    await eventually(lambda: api.version > version + 3)
    assert (holder(api), first.holds, second.holds, waiting.done()) == ("first", True, False, False)
    keeping.cancel()
    await first.release()
    await asyncio.wait_for(waiting, 20)
    assert (holder(api), first.holds, second.holds) == ("second", False, True)
    assert api.get("leases", "default", "manager")["spec"]["leaseTransitions"] == 1


async def test_who_cannot_renew_stops_before_another_starts(api: Api, client: Client) -> None:
    loop = asyncio.get_running_loop()
    first, second = elector(client, "first"), elector(client, "second")
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    stopped_at = asyncio.create_task(_time_of(keeping))
    api.fail("PUT", "leases", 1, 409, "Conflict")  # once is no reason to give up
    version = api.version
    await eventually(lambda: api.version > version)
    async with Client(api.config, "second") as other:
        second._client = other
        waiting = asyncio.create_task(second.acquire())
        first._client = Client(replace(api.config, server="http://127.0.0.1:1"), "cut off")
        await first._client.__aenter__()
        await asyncio.wait_for(waiting, 20)
        started_at = loop.time()
        await first._client.__aexit__(None, None, None)
    assert keeping.done()
    assert await stopped_at < started_at
    assert holder(api) == "second"


async def _time_of(task: asyncio.Task[None]) -> float:
    await task
    return asyncio.get_running_loop().time()


async def test_nobody_may_write_without_the_lease(client: Client) -> None:
    now = 100.0
    elected = Elector(client, LEASE, "first", Timing(), clock=lambda: now)
    with pytest.raises(LeadershipLostError, match="first no longer holds the lease default/manager"):
        elected.check()
    await elected.acquire()
    elected.check()
    now = 109.9
    elected.check()
    now = 110.0
    with pytest.raises(LeadershipLostError):
        elected.check()


async def test_who_slept_with_the_machine_holds_nothing_any_more(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the event loop stands still while a machine is suspended; others' clocks do not."""
    now = 100.0
    monkeypatch.setattr(time, "clock_gettime", lambda which: now if which == time.CLOCK_BOOTTIME else 0.0)
    elected = Elector(client, LEASE, "first", Timing())
    await elected.acquire()
    elected.check()
    now = 110.0
    with pytest.raises(LeadershipLostError):
        elected.check()


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": "second", "leaseDurationSeconds": 15}])
async def test_what_is_not_ours_any_more_is_not_released(api: Api, client: Client, spec: Manifest | None) -> None:
    first = elector(client, "first")
    await first.acquire()
    api.remove("leases", LEASE)
    manifest = {"metadata": {"name": "manager", "namespace": "default"}}
    api.put("leases", manifest if spec is None else {**manifest, "spec": spec})
    await first.release()
    assert (api.get("leases", "default", "manager").get("spec"), first.holds) == (spec, False)


async def test_a_release_that_fails_is_only_told(api: Api, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    first = elector(client, "first")
    await first.acquire()
    api.fail("PUT", "leases", 1, 409, "Conflict")
    await first.release()
    assert ["lease not released" in record.getMessage() for record in caplog.records] == [True]
    assert not first.holds


async def test_a_lease_that_somebody_deleted_is_made_again(api: Api, client: Client) -> None:
    first = elector(client, "first")
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    api.remove("leases", LEASE)
    await eventually(lambda: api.names("leases"))
    assert (holder(api), first.holds, keeping.done()) == ("first", True, False)
    keeping.cancel()


async def test_a_holder_that_died_is_waited_out(api: Api, client: Client) -> None:
    """The time counts from when its last sign of life was seen, whatever its clock says."""
    api.put(
        "leases",
        {
            **LEASES.identity,
            "metadata": {"name": "manager", "namespace": "default"},
            "spec": {
                "holderIdentity": "dead",
                "leaseDurationSeconds": 1,
                "renewTime": "2001-01-01T00:00:00.000000Z",
                "leaseTransitions": 4,
            },
        },
    )
    started = asyncio.get_running_loop().time()
    await elector(client, "heir").acquire()
    assert asyncio.get_running_loop().time() - started >= 1.0
    spec = api.get("leases", "default", "manager")["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("heir", 5)


async def test_a_leader_that_is_killed_is_followed_once_its_lease_has_run_out(api: Api, client: Client) -> None:
    """By the lease's own times; who follows may have seen the last renewal one period late, and asks each period."""
    first, second = elector(client, "first"), elector(client, "second")
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire())
    version = api.version
    await eventually(lambda: api.version > version + 3)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    last = api.get("leases", "default", "manager")["spec"]
    await asyncio.wait_for(waiting, 20)
    spec = api.get("leases", "default", "manager")["spec"]
    took = datetime.fromisoformat(spec["acquireTime"]) - datetime.fromisoformat(last["renewTime"])
    assert (last["holderIdentity"], spec["holderIdentity"]) == ("first", "second")
    assert QUICK.duration <= took.total_seconds() <= QUICK.duration + 2 * QUICK.retry_period + GENEROUS


async def test_who_does_not_hold_it_keeps_nothing(client: Client) -> None:
    await asyncio.wait_for(elector(client, "first").keep(), 5)


def test_renewing_keeps_when_it_was_acquired() -> None:
    taken = next_spec({}, "first", 15)
    renewed = next_spec(taken, "first", 15)
    assert (taken["leaseTransitions"], taken["leaseDurationSeconds"]) == (0, 15)
    assert renewed["acquireTime"] == taken["acquireTime"]
    assert renewed["renewTime"] >= taken["renewTime"]
