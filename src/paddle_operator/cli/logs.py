"""`paddle-operator logs`: what a pod of this machine printed."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from paddle_operator.api.manifest import Key
from paddle_operator.cli.machine import NAMESPACE, STATE_DIR, asked
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import LOG_LINES, pod_log

SILENCE = 24 * 3600.0


@click.command()
@click.argument("pod")
@click.option("-c", "--container", default="", help="Which container; without it, the first.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the pod ends.")
@click.option("-p", "--previous", is_flag=True, help="The run before the last.")
@click.option("--tail", type=click.IntRange(0), default=LOG_LINES, show_default=True, help="How many lines.")
@NAMESPACE
@STATE_DIR
def logs(  # noqa: PLR0913 one parameter for each option
    *, pod: str, container: str, follow: bool, previous: bool, tail: int, namespace: str, state: Path
) -> None:
    """Print what a container of a POD printed."""
    request = pod_log(Key(namespace, pod), container, tail, previous=previous)
    if follow:
        params = {name: value for name, value in request.params.items() if name != "limitBytes"}
        request = replace(request, params={**params, "follow": "true"})

    async def printed(client: Client) -> None:
        async with client.stream(request, SILENCE) as pieces:
            async for piece in pieces:
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()

    asked(state, printed)
