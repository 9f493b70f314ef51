"""`paddle-operator clear-cache`: on a node that a runtime server left."""

from pathlib import Path

import click

from paddle_operator.engines.juicefs import cachefiles


@click.command(name="clear-cache")
@click.option(
    "--cache-dirs",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A directory of the cache; may be given again.",
)
def clear_cache(*, cache_dirs: tuple[Path, ...]) -> None:
    """Empty caches that no runtime server has any more."""
    try:
        gone = cachefiles.give_up(cache_dirs)
    except OSError as error:
        raise click.ClickException(f"the cache cannot be emptied: {error}") from error
    click.echo(f"removed {gone.blocks} blocks, {gone.bytes} bytes")
