"""`paddle-operator watch samplejob NAME`: a job's progress as bars, one for each partition, until it ends."""

import asyncio
import sys
from typing import Self

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.manifest import Key
from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase, SampleJobStatus
from paddle_operator.controllers.kinds import SAMPLE_JOBS
from paddle_operator.controllers.users import status_of
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client

PAUSE = 1.0
ENDED = (SampleJobPhase.SUCCEEDED, SampleJobPhase.FAILED)


@click.group()
def watch() -> None:
    """Look on while something is done."""


@watch.command()
@click.argument("name")
@click.option("-n", "--namespace", default=None, help="Where the job is; without it, in the kubeconfig's namespace.")
@click.option("--kubeconfig", default=None, help="A kubeconfig; without it KUBECONFIG, the pod we are in, the home.")
def samplejob(name: str, namespace: str | None, kubeconfig: str | None) -> None:
    """Show how far a SampleJob is, and end when it does: with 0 if it succeeded, with 1 if not."""
    try:
        reached = config.load(kubeconfig)
        status = asyncio.run(followed(reached, Key(namespace or reached.namespace, name), Console(file=sys.stdout)))
    except (errors.ConfigError, errors.KubeError) as error:
        raise click.ClickException(str(error)) from error
    if status.phase != SampleJobPhase.SUCCEEDED:
        sys.exit(1)


async def followed(reached: config.Config, key: Key, console: Console) -> SampleJobStatus:
    """Show the job until it has ended, and give its last status."""
    async with Client(reached, names.MANAGER) as client:
        with Bars(console) as bars:
            while True:
                manifest = await client.get(SAMPLE_JOBS, key)
                if (manifest.get("spec") or {}).get("schedule"):
                    raise click.ClickException(f"SampleJob {key} has a schedule: watch one of its runs")
                status = status_of(manifest, SampleJobStatus)
                bars.show(status)
                if status.phase in ENDED:
                    return status
                await asyncio.sleep(PAUSE)


class Bars:
    """A line for each partition, and a sentence whenever the job has something new to say."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[files]}"))
        self._progress = Progress(*columns, DownloadColumn(), TimeRemainingColumn(), console=console)
        self._tasks: dict[str, TaskID] = {}
        self._said = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, status: SampleJobStatus) -> None:
        for result in status.results:
            self._show(result)
        told = find(status.conditions, names.CONDITION_SUCCEEDED)
        sentence = f"{status.phase or 'Pending'}: {told.message if told else 'nobody has looked at it yet'}"
        if sentence != self._said:
            self._progress.console.print(escape(sentence), highlight=False, soft_wrap=True)
            self._said = sentence

    def _show(self, result: PartitionResult) -> None:
        if result.pod not in self._tasks:
            self._tasks[result.pod] = self._progress.add_task(escape(result.pod), total=None, files="")
        total = f"/{result.total_files:,}" if result.total_files else ""
        files = f"{result.done_files or 0:,}{total} files {result.phase}"
        self._progress.update(
            self._tasks[result.pod], completed=result.done_bytes or 0, total=result.total_bytes or None, files=files
        )
