"""SampleJobs with a schedule on the real loop, with a clock that the test moves."""

import datetime as dt

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control import manager
from paddle_operator.desired.samplejob import runs as schedules
from paddle_operator.engines.operations import OperationState
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.samplejobs import controllers, job, status, why

from .conftest import Managing, is_ready


class Clock(dt.datetime):
    """Shows another time than the machine's."""

    ahead = dt.timedelta(0)

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]  # a plain time will do
        return dt.datetime.now(tz) + cls.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(manager, "datetime", Clock)
    monkeypatch.setattr(Clock, "ahead", dt.timedelta(0))
    return Clock


def runs(api: Api) -> list[str]:
    return [name for name in api.names("samplejobs") if name != "work"]


async def test_a_run_is_made_when_it_is_due_and_those_before_it_are_kept_as_asked(
    api: Api, managing: Managing, cluster: CacheCluster, clock: type[Clock]
) -> None:
    await is_ready(api, managing)
    api.put("samplejobs", job("clear", schedule="* * * * *", successfulJobsHistoryLimit=1))
    seen: set[str] = set()

    def is_done() -> bool:
        found = runs(api)
        return len(found) == 1 and found[0] not in seen and status(api, found[0]).get("phase") == "Succeeded"

    for minutes in (1, 2, 3):
        clock.ahead = dt.timedelta(minutes=minutes)
        async with managing(controllers()):
            await eventually(is_done)
            seen |= set(runs(api))
    assert len([name for name in cluster.runtime(0).spool.operations if name.startswith("work-")]) == 3
    cron = status(api)["cronJobStatus"]
    assert {"lastScheduleTime", "lastSuccessfulTime", "nextScheduleTime"} <= cron.keys()


@pytest.mark.usefixtures("cluster")
async def test_no_run_is_started_as_long_as_many_have_not_begun(
    api: Api, managing: Managing, clock: type[Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "MOST_WAITING", 2)
    api.put("samplejobs", job("clear", schedule="* * * * *"))
    for minutes in (1, 2):
        clock.ahead = dt.timedelta(minutes=minutes)
        async with managing(controllers()):
            await eventually(lambda: len(status(api).get("cronJobStatus", {}).get("active", [])) >= minutes)  # noqa: B023
    clock.ahead = dt.timedelta(minutes=3)
    async with managing(controllers()):
        await eventually(lambda: why(api, kind="Scheduled").startswith("TooManyRunsWait: no run is started"))
    waiting = runs(api)
    assert len(waiting) == 2
    await is_ready(api, managing)
    async with managing(controllers()):
        await eventually(lambda: set(runs(api)) - set(waiting))
        await eventually(lambda: why(api, kind="Scheduled").startswith("Scheduled"))


async def test_what_was_missed_for_hours_is_made_up_for_once(
    api: Api, managing: Managing, cluster: CacheCluster, clock: type[Clock]
) -> None:
    await is_ready(api, managing)
    api.put("samplejobs", job("clear", schedule="* * * * *"))
    clock.ahead = dt.timedelta(hours=5)
    async with managing(controllers()):
        await eventually(lambda: status(api, runs(api)[0]).get("phase") == "Succeeded" if runs(api) else False)
    assert len(runs(api)) == 1
    assert len([name for name in cluster.runtime(0).spool.operations if name.startswith("work-")]) == 1


async def test_a_schedule_that_is_deleted_takes_its_runs_and_their_work_along(
    api: Api, managing: Managing, cluster: CacheCluster, clock: type[Clock]
) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    api.put("samplejobs", job("clear", schedule="* * * * *"))
    clock.ahead = dt.timedelta(minutes=1)
    async with managing(controllers()):
        await eventually(lambda: len(runs(api)) == 1 and status(api, runs(api)[0]).get("phase") == "Running")
        api.remove("samplejobs", Key("default", "work"))
        await eventually(lambda: api.names("samplejobs") == [])
    states = [found.state for name, found in cluster.runtime(0).spool.operations.items() if name.startswith("work-")]
    assert states == [OperationState.CANCELLED]
