"""`paddle-operator watch samplejob`: bars for people who look on."""

import asyncio
import io
import re

import click
import pytest
from rich.console import Console

from paddle_operator.api.manifest import Key
from paddle_operator.cli import watch
from paddle_operator.engines.operations import OperationState, Progress
from paddle_operator.kube import errors
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.samplejobs import JOB, controllers, job, parts

from .conftest import Managing, is_ready


@pytest.mark.parametrize("end", [OperationState.SUCCEEDED, OperationState.FAILED])
async def test_a_job_is_shown_from_its_waiting_to_its_end(
    api: Api, managing: Managing, cluster: CacheCluster, end: OperationState
) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    screen = io.StringIO()
    console = Console(file=screen, width=200, force_terminal=True)
    looking = asyncio.create_task(watch.followed(api.config, JOB, console))
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        cluster.runtime(0).tell("work", Progress(1234, 5000, 1 << 20, 4 << 20))
        await eventually(lambda: "1,234/5,000 files Running" in screen.getvalue())
        await eventually(lambda: re.search(r"\d (bytes|kB|MB)/s", screen.getvalue()) is not None)
        await eventually(lambda: re.search(r"1\.0 MB/4\.2 MB .*0:00:\d\d left", screen.getvalue()) is not None)
        for number in range(2):
            cluster.runtime(number).end("work", end, "a [red] reason")
        assert (await looking).phase == end.value
    shown = screen.getvalue()
    assert "imagenet-runtime-1" in shown
    assert "Pending: " in shown
    assert f"{end.value}: " in shown
    assert "a [red] reason" in shown


async def test_a_job_that_goes_as_soon_as_it_ends_was_seen_to_succeed(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    api.put("samplejobs", job(ttlSecondsAfterFinished=0))
    looking = asyncio.create_task(watch.followed(api.config, JOB, Console(file=io.StringIO())))
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"])
        cluster.runtime(0).end("work", OperationState.SUCCEEDED)
        assert (await looking).phase == "Succeeded"
        await eventually(lambda: api.names("samplejobs") == [])


async def test_a_job_that_is_deleted_before_its_end_is_told(api: Api) -> None:
    api.put("samplejobs", job())
    screen = io.StringIO()
    looking = asyncio.create_task(watch.followed(api.config, JOB, Console(file=screen)))
    await eventually(lambda: "Pending" in screen.getvalue())
    api.remove("samplejobs", JOB)
    with pytest.raises(click.ClickException, match="SampleJob default/work was deleted before it ended"):
        await looking


async def test_what_cannot_be_watched_is_told(api: Api) -> None:
    with pytest.raises(errors.NotFoundError):
        await watch.followed(api.config, Key("default", "none"), Console(file=io.StringIO()))
    api.put("samplejobs", job(schedule="@daily"))
    with pytest.raises(click.ClickException, match="has a schedule: watch one of its runs"):
        await watch.followed(api.config, JOB, Console(file=io.StringIO()))
