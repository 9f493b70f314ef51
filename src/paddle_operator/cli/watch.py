"""`paddle-operator watch samplejob NAME`: a job's progress as bars, one for each partition, until it ends."""

import asyncio
import datetime as dt
import sys
from collections.abc import Callable
from typing import Self

import click
from rich import filesize
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.samplejob import PartitionResult, SampleJobPhase, SampleJobStatus
from paddle_operator.controllers.kinds import SAMPLE_JOBS
from paddle_operator.controllers.users import status_of
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope
from paddle_operator.kube.watch import Watch

FIGURES = ("files", "size", "rate", "left")
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
        if ((await client.get(SAMPLE_JOBS, key)).get("spec") or {}).get("schedule"):
            raise click.ClickException(f"SampleJob {key} has a schedule: watch one of its runs")
        sight = Sight()
        watching = Watch(client, Scope(SAMPLE_JOBS, key.namespace, fields=f"metadata.name={key.name}"), sight, sight)
        running = asyncio.create_task(watching.run())
        try:
            await watching.answered.wait()
            if watching.is_forbidden:
                raise click.ClickException(f"you may not watch SampleJobs in namespace {key.namespace}")
            return await shown(sight, key, console)
        finally:
            running.cancel()


async def shown(sight: "Sight", key: Key, console: Console) -> SampleJobStatus:
    with Bars(console) as bars:
        while (manifest := await sight.states.get()) is not None:
            status = status_of(manifest, SampleJobStatus)
            bars.show(status)
            if status.phase in ENDED:
                return status
    raise click.ClickException(f"SampleJob {key} was deleted before it ended")


class Sight:
    """All states of one job, one after the other, and nothing when it is gone: some end and go within a second."""

    def __init__(self) -> None:
        self.states: asyncio.Queue[Manifest | None] = asyncio.Queue()

    def replace(self, items: list[Manifest]) -> None:
        self.states.put_nowait(items[0] if items else None)

    def put(self, manifest: Manifest) -> None:
        self.states.put_nowait(manifest)

    def remove(self, manifest: Manifest) -> None:
        self.states.put_nowait(manifest)
        self.states.put_nowait(None)

    def watch_restarted(self, plural: str) -> None: ...

    def object_skipped(self, plural: str) -> None: ...


class Bars:
    """A line for each partition, and a sentence whenever the job has something new to say."""

    def __init__(self, console: Console) -> None:
        figures = (TextColumn(f"{{task.fields[{name}]}}") for name in FIGURES)
        self._progress = Progress(TextColumn("{task.description}"), BarColumn(), *figures, console=console)
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
            task = self._progress.add_task(escape(result.pod), total=None, files="", size="", rate="", left="")
            self._tasks[result.pod] = task
        done, total = result.done_files or 0, result.total_files or 0
        if result.total_bytes:
            done, total = result.done_bytes or 0, result.total_bytes
        left = result.seconds_left
        self._progress.update(
            self._tasks[result.pod],
            completed=done,
            total=total or None,
            files=f"{result.done_files or 0:,}{of(result.total_files, '{:,}'.format)} files {result.phase}",
            size=f"{filesize.decimal(result.done_bytes or 0)}{of(result.total_bytes, filesize.decimal)}",
            rate=f"{filesize.decimal(result.bytes_per_second)}/s" if result.bytes_per_second else "",
            left="" if left is None else f"{dt.timedelta(seconds=left)} left",
        )


def of(total: int | None, shown: Callable[[int], str]) -> str:
    """Give the part behind the stroke, if there is a total."""
    return f"/{shown(total)}" if total else ""
