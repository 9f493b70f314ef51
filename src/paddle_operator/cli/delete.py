"""`paddle-operator delete`: objects of this machine, taken away."""

from pathlib import Path

import click

from paddle_operator.api.manifest import Key
from paddle_operator.cli.machine import NAMESPACE, STATE_DIR, asked, resource
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Preconditions


@click.command()
@click.argument("kind")
@click.argument("names", nargs=-1, required=True)
@NAMESPACE
@STATE_DIR
def delete(*, kind: str, names: tuple[str, ...], namespace: str, state: Path) -> None:
    """Delete the objects of this KIND with these NAMES."""
    found = resource(kind)

    async def deleted(client: Client) -> None:
        for name in names:
            await client.delete(found.kind, Key(namespace if found.kind.namespaced else "", name), Preconditions())
            click.echo(f"{found.singular}/{name} deleted")

    asked(state, deleted)
