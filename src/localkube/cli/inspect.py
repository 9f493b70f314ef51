"""Verbs that look: status, list, kubeconfig, kubectl, logs."""

import dataclasses
import json
import os
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from localkube import clusters, controlplane, errors, faults, logs, spec, status
from localkube.cli import options
from localkube.paths import Home


@click.command("status")
@options.name
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def show_status(name: str, as_json: bool) -> None:  # noqa: FBT001 click passes flags so
    """Show a cluster's programs, nodes and what it uses. Ends with 1 when it is not healthy."""
    observed = status.observe(clusters.find(Home.from_environment(), name))
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(observed), indent=2))
    else:
        _print_status(observed, Console(highlight=False, soft_wrap=True))
    if not observed.healthy:
        raise errors.LocalkubeError(
            f"cluster {name} is not healthy: `localkube up --name {name}` starts what is missing"
        )


def _print_status(observed: status.ClusterStatus, console: Console) -> None:
    programs = Table("PROGRAM", "STATE", "RESTARTS", "UP", box=None, pad_edge=False)
    rows = [(program.name, program) for program in observed.programs]
    rows += [(f"{node.name}/{program.name}", program) for node in observed.nodes for program in node.programs]
    for shown, program in rows:
        programs.add_row(shown, program.state, str(program.restarts), f"{program.seconds:.0f} s")
    nodes = Table("NODE", "READY", "ADDRESS", "LINK", box=None, pad_edge=False)
    for node in observed.nodes:
        nodes.add_row(node.name, "yes" if node.ready else "no", node.address, node.link)
    console.print(programs, "", nodes, "", sep="\n")
    megabytes = observed.memory_bytes / 2**20
    console.print(f"server      {observed.server}\nkubeconfig  {observed.kubeconfig}")
    console.print(f"uses        {megabytes:.0f} MiB of memory, {observed.cpu_cores * 100:.0f} % of a core")


@click.command("list")
def list_clusters() -> None:
    """List the clusters of this machine."""
    table = Table("NAME", "NODES", "STATE", "NETWORK", box=None, pad_edge=False)
    for paths in Home.from_environment().clusters():
        known = spec.load(paths.spec)
        if known is None:
            table.add_row(paths.name, "?", "half made", "?")
            continue
        cluster = clusters.find(Home.from_environment(), paths.name)
        state = "healthy" if cluster.healthy() else "ill" if cluster.control.alive() else "stopped"
        table.add_row(paths.name, str(len(known.nodes)), state, known.block)
    Console(highlight=False, soft_wrap=True).print(table)


@click.command()
@options.name
def kubeconfig(name: str) -> None:
    """Print the path of the administrator's kubeconfig: export KUBECONFIG=$(localkube kubeconfig)."""
    click.echo(clusters.find(Home.from_environment(), name).paths.kubeconfig)


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@options.name
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(name: str, arguments: tuple[str, ...]) -> None:
    """Run the cluster's own kubectl against it."""
    cluster = options.cluster(name)
    program = Path(cluster.spec.binaries) / "kubectl"
    os.execve(program, [str(program), *arguments], {**os.environ, "KUBECONFIG": str(cluster.paths.kubeconfig)})  # noqa: S606 no shell is the point


@click.command("logs")
@options.name
@click.option("--tail", type=click.IntRange(min=0), default=50, show_default=True, help="How many last lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on until stopped.")
@click.argument("component")
def show_logs(name: str, tail: int, follow: bool, component: str) -> None:  # noqa: FBT001 click passes flags so
    """Print what a component logged: kube-apiserver, node-1/kubelet; node-1 or cluster for their first process."""
    cluster = clusters.find(Home.from_environment(), name)
    path = logs.path_of(cluster, component)
    if path is None:
        known = ", ".join(["cluster", *controlplane.COMPONENTS, *(n.name for n in cluster.spec.nodes)])
        raise errors.LocalkubeError(
            f"there is no component {component}; there are {known}, {faults.component_names(cluster)[-1]} …"
        )
    for line in logs.lines(path, tail, follow=follow):
        click.echo(line)


COMMANDS = (show_status, list_clusters, kubeconfig, kubectl, show_logs)
