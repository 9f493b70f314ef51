"""Verbs that make and remove a cluster: prepare, up, down."""

import sys

import click

from localkube import clusters, demonstration, preflight
from localkube.cli import options
from localkube.paths import Home
from localkube.progress import Progress

CANNOT_HERE = 3


@click.command()
def prepare() -> None:
    """Install and build everything a cluster needs, without starting one.

    Ends with 3, and the reasons, where a cluster cannot run at all.
    """
    home = Home.from_environment()
    if problems := preflight.problems(home, needs_memory=False):
        for problem in problems:
            click.echo(f"localkube: {problem}", err=True)
        sys.exit(CANNOT_HERE)
    clusters.prepare(home, Progress())


@click.command()
@options.name
@click.option("--nodes", default=3, show_default=True, help="How many nodes.")
@click.option("--disk", default="20G", show_default=True, help="Size of each node's disk; takes only what is written.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Passed to every Kubernetes component.")
@click.option("--runtime-config", default="", metavar="GROUP/VERSION=true", help="Passed to the API server.")
@click.option(
    "--replace", is_flag=True, help="Make it anew if it is ill, from another version, or was asked for otherwise."
)
def up(replace: bool, **asked: str | int) -> None:  # noqa: FBT001 click passes flags so
    """Bring a cluster up, or finish what an earlier `up` began."""
    home, progress = Home.from_environment(), Progress()
    request = clusters.Request(**asked)  # type: ignore[arg-type]  # the options above are its fields
    cluster = clusters.up(home, request, progress, replace_other=replace)
    progress.say(f"Cluster {request.name} is up. Use it with:\n  export KUBECONFIG={cluster.paths.kubeconfig}")


@click.command()
@options.name
@click.option("--all", "everyone", is_flag=True, help="Every cluster of this machine.")
def down(name: str, everyone: bool) -> None:  # noqa: FBT001 click passes flags so
    """Remove a cluster with everything it made, whole or half made."""
    home, progress = Home.from_environment(), Progress()
    for wanted in [paths.name for paths in home.clusters()] if everyone else [name]:
        if not clusters.down(home, wanted, progress):
            progress.say(f"There was no cluster {wanted}.")


@click.command()
@options.name
def demo(name: str) -> None:
    """Show that a running cluster works: pods on every node answer each other by name."""
    demonstration.run(Home.from_environment(), options.cluster(name), Progress())


COMMANDS = (prepare, up, down, demo)
