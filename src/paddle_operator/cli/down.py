"""`paddle-operator down`: this machine as it was before the first run."""

from pathlib import Path

import click

from paddle_operator.cli.run import STATE_DIR
from paddle_operator.embedded import ending
from paddle_operator.embedded.statedir import StateDirectory, StateError


@click.command()
@STATE_DIR
def down(*, state: Path) -> None:
    """End what runs on this machine and remove all data sets, caches and logs."""
    place = StateDirectory(state.absolute())
    try:
        was_running = ending.end_run(place)
        ending.remove(place)
    except StateError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{place.root} is gone{', and what ran in it' if was_running else ''}")
