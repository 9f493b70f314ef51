"""`paddle-operator watch samplejob`: bars for people who look on."""

import asyncio
import io

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
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch, end: OperationState
) -> None:
    monkeypatch.setattr(watch, "PAUSE", 0.01)
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
        for number in range(2):
            cluster.runtime(number).end("work", end, "a [red] reason")
        assert (await looking).phase == end.value
    shown = screen.getvalue()
    assert "imagenet-runtime-1" in shown
    assert "Pending: " in shown
    assert f"{end.value}: " in shown
    assert "a [red] reason" in shown


async def test_what_cannot_be_watched_is_told(api: Api) -> None:
    with pytest.raises(errors.NotFoundError):
        await watch.followed(api.config, Key("default", "none"), Console(file=io.StringIO()))
    api.put("samplejobs", job(schedule="@daily"))
    with pytest.raises(click.ClickException, match="has a schedule: watch one of its runs"):
        await watch.followed(api.config, JOB, Console(file=io.StringIO()))
