"""The way to a run from a second terminal: its state directory, its API, and the kinds it knows."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import click

from paddle_operator.api import crd
from paddle_operator.cli.run import STATE_DIR
from paddle_operator.embedded.apiserver.resources import Resource, builtin, defined
from paddle_operator.embedded.statedir import StateDirectory
from paddle_operator.kube import config, errors
from paddle_operator.kube.client import Client

Answer = TypeVar("Answer")
NAMESPACE = click.option("-n", "--namespace", default="default", show_default=True)
__all__ = ["NAMESPACE", "STATE_DIR", "asked", "resource"]


def asked(state: Path, work: Callable[[Client], Coroutine[None, None, Answer]]) -> Answer:
    """Ask the run of this state directory, or say that there is none."""
    place = StateDirectory(state.absolute())
    if place.holder is None or not place.kubeconfig.exists():
        raise click.ClickException(
            f"nothing runs in {place.root}: start it with `paddle-operator run`, maybe with --stay"
        )
    try:
        return asyncio.run(_asked(place, work))
    except errors.KubeError as error:
        raise click.ClickException(str(error)) from error


async def _asked(place: StateDirectory, work: Callable[[Client], Awaitable[Answer]]) -> Answer:
    async with Client(config.load(str(place.kubeconfig)), "kubectl") as client:
        return await work(client)


def resource(named: str) -> Resource:
    """Find a kind as people name it: by its plural, its singular, a short name, or its kind."""
    for found in (*map(defined, map(crd.v1, crd.KINDS)), *builtin()):
        known = {found.kind.plural, found.singular, found.kind.kind.lower(), *found.short_names}
        if named.lower().partition(".")[0] in known:
            return found
    raise click.ClickException(f"there is no kind {named}")
