"""The options that decide what a PaddleJob becomes: the manager's, and those of `plan`, which shows it."""

import functools
from collections.abc import Callable

import click

from paddle_operator.desired.paddlejob.hostport import HIGHEST, LOWEST
from paddle_operator.desired.paddlejob.snapshot import PortRange, Settings
from paddle_operator.desired.training.settings import DEFAULT_IMAGE, Scheduling


def port_range(_: click.Context, __: click.Parameter, value: str) -> PortRange:
    first, last = [int(word) if word.isdecimal() else 0 for word in [*value.split(","), ""][:2]]
    if not LOWEST <= first < last <= HIGHEST:
        raise click.BadParameter(f"{value!r} is no range of ports: write the first and the last, such as 35000,65000")
    return PortRange(first, last)


OPTIONS = (
    click.option(
        "--scheduling",
        type=click.Choice([found.value for found in Scheduling]),
        default="",
        help="Who schedules the pods of a PaddleJob all or none: volcano, or native: the alpha API of Kubernetes 1.35.",
    ),
    click.option(
        "--port-range",
        callback=port_range,
        default="35000,65000",
        show_default=True,
        help="Ports of the nodes for PaddleJobs on the hosts' network.",
    ),
    click.option("--etcd-server", default="", help="etcd for elastic PaddleJobs, as HOST:PORT, with commas between."),
    click.option(
        "--init-image",
        "--initImage",
        envvar="PADDLE_OPERATOR_IMAGE",
        default=DEFAULT_IMAGE,
        show_default=True,
        show_envvar=True,
        help="Our own image, in which PaddleJobs' pods wait for each other; empty: they do not wait.",
    ),
)


def training_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, and hand them to it as one: `training`."""

    @functools.wraps(command)
    def with_settings(
        *, scheduling: str, port_range: PortRange, etcd_server: str, init_image: str, **others: object
    ) -> None:
        command(training=Settings(init_image, etcd_server, Scheduling(scheduling), port_range), **others)

    for option in reversed(OPTIONS):
        with_settings = option(with_settings)
    return with_settings
