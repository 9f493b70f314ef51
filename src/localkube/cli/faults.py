"""Verbs that break things on purpose: node, component, link, disk."""

from typing import Literal

import click

from localkube import faults, sizes
from localkube.cli import options


@click.command()
@options.name
@click.argument("action", type=click.Choice(["stop", "start", "kill"]))
@click.argument("node")
def node(name: str, action: Literal["stop", "start", "kill"], node: str) -> None:
    """Shut a node down, start it, or cut its power."""
    getattr(options.cluster(name).node(node), action)()


@click.command()
@options.name
@click.argument("action", type=click.Choice(["stop", "start", "restart", "kill"]))
@click.argument("component")
def component(name: str, action: Literal["stop", "start", "restart", "kill"], component: str) -> None:
    """Stop, start, restart or kill one program: kube-apiserver, node-1/kubelet. A killed one comes back by itself."""
    getattr(faults.component(options.cluster(name), component), action)()


@click.command()
@options.name
@click.option("--rate", metavar="50mbit", help="Hold both directions to this rate.")
@click.option("--cut", is_flag=True, help="Let nothing through.")
@click.option("--restore", is_flag=True, help="Whole again, at full speed.")
@click.argument("node")
def link(name: str, rate: str | None, cut: bool, restore: bool, node: str) -> None:  # noqa: FBT001 click passes flags so
    """Slow, cut or restore the link of a node; show it when nothing is asked."""
    if bool(rate) + cut + restore > 1:
        raise click.UsageError("--rate, --cut and --restore exclude each other")
    cluster = options.cluster(name)
    cable = faults.Link(cluster, cluster.node(node))
    if rate:
        cable.limit(rate)
    elif cut:
        cable.cut()
    elif restore:
        cable.restore()
    click.echo(f"{node}: {cable.describe()}")


@click.command()
@options.name
@click.option("--leave", default="0", show_default=True, metavar="100M", help="How much stays free.")
@click.argument("action", type=click.Choice(["fill", "empty"]))
@click.argument("node")
def disk(name: str, leave: str, action: str, node: str) -> None:
    """Fill a node's disk, or empty it of what filled it. This machine's own disk is spared."""
    target = options.cluster(name).node(node)
    if action == "empty":
        faults.empty_disk(target)
    else:
        click.echo(f"{node}: {faults.fill_disk(target, sizes.parse(leave))} bytes taken")


COMMANDS = (node, component, link, disk)
