"""`paddle-operator describe`: one object on this machine, and what happened to it."""

from pathlib import Path

import click

from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.cli.listing import text
from paddle_operator.cli.machine import NAMESPACE, STATE_DIR, asked, resource
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import EVENTS
from paddle_operator.kube.request import Scope

LEFT_OUT = ("managedFields",)


@click.command()
@click.argument("kind")
@click.argument("name")
@NAMESPACE
@STATE_DIR
def describe(*, kind: str, name: str, namespace: str, state: Path) -> None:
    """Show the object of this KIND and NAME, and its events."""
    found = resource(kind)

    async def observed(client: Client) -> tuple[Manifest, list[Manifest]]:
        manifest = await client.get(found.kind, Key(namespace if found.kind.namespaced else "", name))
        events = await client.list(Scope(EVENTS, fields=f"involvedObject.uid={uid_of(manifest)}"))
        return manifest, events.items

    manifest, events = asked(state, observed)
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in LEFT_OUT}
    click.echo(text([{**manifest, "metadata": metadata}]), nl=False)
    click.echo("events:" if events else "events: none")
    for event in sorted(events, key=lambda one: str(one.get("lastTimestamp"))):
        click.echo(f"  {event.get('lastTimestamp')} {event['type']} {event['reason']}: {event['message']}")
