"""Builds images from Dockerfiles, without a daemon and without the network."""

from collections.abc import Mapping
from pathlib import Path

from localkube import errors
from localkube.images import archive, reference, rootfs, storage, workshop
from localkube.paths import Home
from localkube.progress import Progress

BASE_ARGUMENT = "BASE_IMAGE"


def build(  # noqa: PLR0913, PLR0917 one for each thing a build is made of
    home: Home,
    tag: str,
    context: Path,
    dockerfile: Path | None,
    build_args: Mapping[str, str],
    base_packages: tuple[str, ...],
    progress: Progress,
) -> Path:
    """Build and return the image's archive; base packages make a Debian that the Dockerfile gets as BASE_IMAGE."""
    name = reference.full(tag)
    file = dockerfile or context / "Dockerfile"
    if not file.is_file():
        raise errors.LocalkubeError(f"there is no {file} to build {tag} from")
    base = rootfs.ensure(home, base_packages, progress) if base_packages else None
    arguments = {**build_args, **({BASE_ARGUMENT: base.reference} if base else {})}
    with workshop.opened(home, "build", progress.say) as shop:
        store = storage.opened(shop, workshop.directory(home) / "storage")
        if base is not None:
            store.ensure_image(base.archive, progress)
        with progress.step(f"image {tag}") as update:
            built = store.build(name, [*_options(arguments), f"--file={file}", str(context)], update)
            store.prune()
            target = _place(home, name)
            if not (target.exists() and archive.identity(target) == built):
                update("packing")
                store.export(name, target)
    return target


def archive_of(home: Home, tag: str) -> Path:
    """Return what an earlier build of this tag left."""
    place = _place(home, reference.full(tag))
    if not place.is_file():
        raise errors.LocalkubeError(f"no image {tag} was built here: build it first, or name an archive's file")
    return place


def _place(home: Home, name: str) -> Path:
    """Name the file so that no two references share one: they have no % and no + in them."""
    directory = workshop.directory(home) / "builds"
    directory.mkdir(exist_ok=True)
    return directory / f"{name.replace('/', '%').replace(':', '+')}.tar"


def _options(arguments: Mapping[str, str]) -> list[str]:
    """Reuse layers only where nothing but the base is given: buildah overlooks that an ENV or LABEL has a new value."""
    reusing = "true" if arguments.keys() <= {BASE_ARGUMENT} else "false"
    return [f"--layers={reusing}", *(f"--build-arg={name}={value}" for name, value in arguments.items())]
