"""Verbs about images: build-image, load-image."""

from pathlib import Path

import click

from localkube import packages
from localkube.cli import options
from localkube.images import build
from localkube.paths import Home
from localkube.progress import Progress


@click.command("build-image")
@click.option("-t", "--tag", required=True, help="Name of the image, such as localhost/app:dev.")
@click.option(
    "-f", "--file", "dockerfile", type=click.Path(path_type=Path, exists=True), help="Default: CONTEXT/Dockerfile."
)
@click.option("--build-arg", "pairs", multiple=True, metavar="NAME=VALUE", help="Build argument; may be repeated.")
@click.option(
    "--base-packages",
    default="",
    metavar="A,B,C",
    help="Make a base of these Debian packages and pass its name as BASE_IMAGE.",
)
@click.argument("context", type=click.Path(path_type=Path, exists=True, file_okay=False))
def build_image(tag: str, dockerfile: Path | None, pairs: tuple[str, ...], base_packages: str, context: Path) -> None:
    """Build an image from a Dockerfile, without a container engine, and print its archive."""
    arguments = dict(_pair(pair) for pair in pairs)
    wanted = tuple(word for word in base_packages.split(",") if word)
    progress = Progress()
    packages.ensure(progress)
    recipe = build.Recipe(tag, context, dockerfile, arguments, wanted)
    click.echo(build.build(Home.from_environment(), recipe, progress))


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--build-arg")
    return name, value


@click.command("load-image")
@options.name
@click.argument("image")
def load_image(name: str, image: str) -> None:
    """Load an image on every node: an archive's path, or a tag that build-image made."""
    cluster = options.cluster(name)
    archive = Path(image) if Path(image).is_file() else build.archive_of(Home.from_environment(), image)
    cluster.load(archive, Progress())


COMMANDS = (build_image, load_image)
