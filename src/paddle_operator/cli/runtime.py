"""`paddle-operator runtime-server`: in a cache pod, next to a partition's data."""

import asyncio
import logging
import os
from pathlib import Path

import click

from paddle_operator.cli.failures import words
from paddle_operator.control.process import collect_rarely
from paddle_operator.desired.sampleset.servers import PORT
from paddle_operator.engines.juicefs import command, confinement, flags, ledger
from paddle_operator.engines.juicefs.fetching import Place
from paddle_operator.engines.juicefs.flags import FlagError
from paddle_operator.engines.juicefs.runtime import JuiceFS
from paddle_operator.runtime.server import Settings, serve
from paddle_operator.runtime.spool import SpoolError

log = logging.getLogger(__name__)
LEVELS = ("debug", "info", "warning", "error")
DIRECTORY = click.Path(path_type=Path, file_okay=False)


@click.command(name="runtime-server")
@click.option("--mount-path", required=True, type=DIRECTORY, help="Where the data set is mounted.")
@click.option("--cache-dirs", multiple=True, type=DIRECTORY, help="A directory of its cache; may be given again.")
@click.option("--token-file", required=True, type=click.Path(path_type=Path), help="Whoever has its content may order.")
@click.option("--spool", required=True, type=DIRECTORY, help="Where orders are kept; it must outlive a restart.")
@click.option(
    "--source-dirs",
    multiple=True,
    type=DIRECTORY,
    envvar="RUNTIME_SOURCE_DIRS",
    help="A directory that may be copied from, by file:// (also RUNTIME_SOURCE_DIRS).",
)
@click.option(
    "--metadata-file",
    default=None,
    type=click.Path(path_type=Path),
    help="Has the address of the data set's metadata engine: where that is a Redis, warm-ups take less time.",
)
@click.option("--pod-uid", default="", help="Of the pod that this is in: what another did not end is not taken up.")
@click.option("--host", default=None, help="The address to listen on; without it, all.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="The port to listen on.")
@click.option("--log-level", default="info", show_default=True, type=click.Choice(LEVELS), help="How much to say.")
def runtime_server(  # noqa: PLR0913 one parameter for each option
    *,
    mount_path: Path,
    cache_dirs: tuple[Path, ...],
    token_file: Path,
    spool: Path,
    source_dirs: tuple[Path, ...],
    metadata_file: Path | None,
    pod_uid: str,
    host: str | None,
    port: int,
    log_level: str,
) -> None:
    """Carry out orders on a data set's partition, and tell how it stands."""
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if not (token_file.is_file() and token_file.read_bytes().strip()):
        raise click.ClickException(f"--token-file {token_file} is not there, or empty: without it nobody may order")
    try:
        caches = tuple(path.absolute() for path in cache_dirs)
        place = Place(mount_path.absolute(), caches, spool / "scratch", ledger.directory_in(spool), metadata_file)
        sources = tuple(path.resolve() for path in source_dirs)
        collect_rarely()
        asyncio.run(run(Settings(token_file, spool, port, host, pod_uid), place, sources))
    except* (FlagError, SpoolError, OSError) as group:
        failed = "; ".join(words(group))
    else:
        return
    raise click.ClickException(failed)


async def run(settings: Settings, place: Place, sources: tuple[Path, ...]) -> None:
    told = await command.run(flags.Invocation(flags.VERSION))
    version = flags.parse_version("\n".join(told.lines))
    if not confinement.version():
        log.warning(
            "a sync may follow symbolic links out of the data set, and out of its source: this kernel has no Landlock"
        )
    await serve(JuiceFS(place, version, sources), settings)
    # Threads that wait for a mount that hangs would never let us go; all that matters is written down.
    logging.shutdown()
    os._exit(0)
