"""`paddle-operator clear-cache`: on a node that a runtime server left."""

from pathlib import Path

import click

from paddle_operator.engines.juicefs import cachefiles, ledger
from paddle_operator.runtime.spool import Spool, SpoolError


@click.command(name="clear-cache")
@click.option(
    "--cache-dirs",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A directory of the cache; may be given again.",
)
@click.option("--spool", required=True, type=click.Path(path_type=Path, file_okay=False), help="As a server had it.")
def clear_cache(*, cache_dirs: tuple[Path, ...], spool: Path) -> None:
    """Empty caches that no runtime server has any more, and forget what one was ordered here."""
    ledger.forget(ledger.directory_in(spool))
    orders = Spool(spool)
    try:
        with orders.held():
            orders.empty()
            gone = cachefiles.give_up(cache_dirs)
    except (OSError, SpoolError) as error:
        raise click.ClickException(f"the cache cannot be emptied: {error}") from error
    click.echo(f"removed {gone.blocks} blocks, {gone.bytes} bytes")
