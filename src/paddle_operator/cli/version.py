"""`paddle-operator version`: which release this is, and what it runs on."""

import platform
from importlib import metadata

import click

DISTRIBUTION = "paddle-operator"


@click.command()
def version() -> None:
    """Print the version, with Python's and the platform."""
    system = f"{platform.system()} {platform.machine()}"
    click.echo(f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)} (Python {platform.python_version()}, {system})")
