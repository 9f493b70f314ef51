"""`paddle-operator manager`: the controllers, in a cluster or beside one."""

import asyncio
import logging
import secrets
import socket
from typing import TypeVar

import click

from paddle_operator.api.manifest import Key
from paddle_operator.api.names import ANNOTATION_APPLIED, MANAGER
from paddle_operator.cli.failures import words
from paddle_operator.cli.goflags import GoCommand, ignored_options
from paddle_operator.cli.training import training_options
from paddle_operator.control import health
from paddle_operator.control.controller import Controller
from paddle_operator.control.lease import LeadershipLostError
from paddle_operator.control.manager import Election, Manager, Settings
from paddle_operator.control.process import collect_rarely, signals
from paddle_operator.controllers import cachebackend, paddlejob, samplejob, sampleset, trainingjob
from paddle_operator.desired.paddlejob import snapshot as paddle
from paddle_operator.desired.sampleset import snapshot as data
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from paddle_operator.kube.errors import ConfigError

ALL = "*"
Named = TypeVar("Named")


def address(_: click.Context, __: click.Parameter, value: str) -> health.Address | None:
    try:
        return health.parse_address(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def directories(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in value.split(",") if word.strip())
    if any(not word.startswith("/") or ".." in word.split("/") for word in found):
        raise click.BadParameter(f"{value!r} are no absolute directories with commas between, such as /dataset,/mnt")
    return found


def controllers(training: paddle.Settings, sets: data.Settings) -> dict[str, Controller]:
    """Give all controllers that there are, by name."""
    made = (
        paddlejob.controller(training),
        sampleset.controller(sets),
        samplejob.controller(),
        cachebackend.controller(),
        *(trainingjob.controller(name, training.scheduling) for name in trainingjob.STRUCTS),
    )
    return {found.name: found for found in made}


@click.command(cls=GoCommand)
@click.option("--controllers", "names", default=ALL, show_default=True, help="Which controllers, with commas between.")
@click.option("--namespace", default="", help="Look at this namespace only; without it, at all.")
@click.option("--leader-elect", is_flag=True, help="Act only while holding the lease, so that several may run.")
@click.option("--lease-namespace", default="", help="Where the lease is; without it, in our own namespace.")
@click.option("--lease-name", default=MANAGER, show_default=True, help="What the lease is called.")
@click.option("--metrics-bind-address", "metrics_at", callback=address, default=":8080", show_default=True)
@click.option("--health-probe-bind-address", "health_at", callback=address, default=":8081", show_default=True)
@click.option("--kubeconfig", default=None, help="A kubeconfig; without it KUBECONFIG, the pod we are in, the home.")
@click.option("--verbose", is_flag=True, help="Say more.")
@click.option(
    "--runtime-image",
    envvar=["RUNTIME_IMAGE", "PADDLE_OPERATOR_IMAGE"],
    default=DEFAULT_IMAGE,
    show_default=True,
    show_envvar=True,
    help="Our own image, in which SampleSets' runtime servers run.",
)
@click.option(
    "--local-sources",
    callback=directories,
    default="",
    help="Directories of nodes, with commas between, below which data with local:// may lie; without any, nowhere.",
)
@training_options
@ignored_options
def manager(  # noqa: PLR0913 one parameter for each option people know from other managers
    *,
    names: str,
    namespace: str,
    leader_elect: bool,
    lease_namespace: str,
    lease_name: str,
    metrics_at: health.Address | None,
    health_at: health.Address | None,
    training: paddle.Settings,
    runtime_image: str,
    local_sources: tuple[str, ...],
    kubeconfig: str | None,
    verbose: bool,
) -> None:
    """Run the controllers."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    asked = choose(names, {name: name for name in controllers(training, data.Settings())})
    try:
        reached = config.load(kubeconfig)
        # Who looks at one namespace only may do nothing in another.
        sets = data.Settings(runtime_image, local_sources, "" if namespace else reached.namespace)
        made = controllers(training, sets)
        chosen = [made[name] for name in asked]
        election = Election(Key(lease_namespace or reached.namespace, lease_name), identity()) if leader_elect else None
        collect_rarely()
        asyncio.run(run(reached, chosen, Settings(ANNOTATION_APPLIED, namespace, election, metrics_at, health_at)))
    except* (ConfigError, LeadershipLostError, OSError) as group:
        failed = "; ".join(words(group))
    else:
        return
    raise click.ClickException(failed)


async def run(reached: config.Config, controllers: list[Controller], settings: Settings) -> None:
    stop = asyncio.Event()
    with signals(stop):
        async with Client(reached, MANAGER) as client:
            await Manager(client, controllers, settings).run(stop)


def choose(names: str, known: dict[str, Named]) -> list[Named]:
    """Give what belongs to the controllers that are named."""
    asked = list(known) if names == ALL else [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in known]:
        there_are = f"there are {', '.join(sorted(known))}" if known else "this release has none"
        raise click.ClickException(f"there is no controller {', '.join(unknown)}; {there_are}")
    return [known[name] for name in asked]


def identity() -> str:
    """Name this very process: a new one in the same pod is somebody else."""
    return f"{socket.gethostname()}_{secrets.token_hex(8)}"
