"""Builds images from Dockerfiles, without a daemon and without the network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localkube import errors
from localkube.images import archive, reference, rootfs, storage, workshop
from localkube.paths import Home
from localkube.progress import Progress

BASE_ARGUMENT = "BASE_IMAGE"


@dataclass(frozen=True)
class Recipe:
    """What an image is built from; base packages make a Debian that the Dockerfile gets as BASE_IMAGE."""

    tag: str
    context: Path
    dockerfile: Path | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
    base_packages: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        return self.dockerfile or self.context / "Dockerfile"


def build(home: Home, recipe: Recipe, progress: Progress) -> Path:
    """Build and return the image's archive; one that would be the same is left as it is."""
    name = reference.full(recipe.tag)
    if not recipe.file.is_file():
        raise errors.LocalkubeError(f"there is no {recipe.file} to build {recipe.tag} from")
    base = rootfs.ensure(home, recipe.base_packages, progress) if recipe.base_packages else None
    arguments = {**recipe.build_args, **({BASE_ARGUMENT: base.reference} if base else {})}
    with workshop.opened(home, "build", progress.say) as shop:
        store = storage.opened(shop, workshop.directory(home) / "storage")
        if base is not None:
            store.ensure_image(base.archive, progress)
        with progress.step(f"image {recipe.tag}") as update:
            built = store.build(name, [*_options(arguments), f"--file={recipe.file}", str(recipe.context)], update)
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
