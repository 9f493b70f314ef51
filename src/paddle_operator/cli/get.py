"""`paddle-operator get`: what there is on this machine, from a second terminal."""

from pathlib import Path

import click
import msgspec

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.cli.listing import text
from paddle_operator.cli.machine import NAMESPACE, STATE_DIR, asked, resource
from paddle_operator.cli.runview import listed
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope


@click.command()
@click.argument("kind")
@click.argument("name", required=False)
@NAMESPACE
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True)
@click.option("-o", "--output", type=click.Choice(["table", "yaml", "json"]), default="table")
@STATE_DIR
def get(*, kind: str, name: str | None, namespace: str, everywhere: bool, output: str, state: Path) -> None:
    """Show objects of a KIND, or the one of this NAME."""
    found = resource(kind)
    within = "" if everywhere or not found.kind.namespaced else namespace

    async def observed(client: Client) -> list[Manifest]:
        if name:
            return [await client.get(found.kind, Key(within or namespace, name))]
        return (await client.list(Scope(found.kind, within))).items

    items = asked(state, observed)
    match output:
        case "yaml":
            click.echo(text(items), nl=False)
        case "json":
            click.echo(msgspec.json.format(msgspec.json.encode(items[0] if name else items), indent=2))
        case _ if items:
            click.echo(listed(found, items, namespaces=everywhere and found.kind.namespaced))
        case _:
            click.echo(f"No resources found{f' in {within} namespace' if within else ''}.", err=True)
