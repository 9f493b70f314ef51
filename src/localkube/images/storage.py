"""What buildah keeps between builds: base images, and layers that need not be built again. It is only a cache."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localkube import errors
from localkube.images import archive
from localkube.images.workshop import Workshop
from localkube.progress import Progress, Update

# What happens in a RUN has no network, since this machine's package settings are not inside. Nor has the rest.
OPTIONS = ("--isolation=chroot", "--force-rm", "--pull=never", "--http-proxy=false", "--format=docker")


@dataclass(frozen=True)
class Storage:
    shop: Workshop
    root: Path
    driver: str

    def buildah(self, words: Sequence[str], update: Callable[[str], None] = lambda _: None) -> None:
        """Run buildah on this storage alone; its notes of what is mounted are drafts, as mounts do not outlive us."""
        settings = self.shop.drafts / "storage.conf"  # stands in for this machine's, whose options suit its own driver
        settings.write_text(f'[storage]\ndriver = "{self.driver}"\n')
        places = ["--root", str(self.root), "--runroot", str(self.shop.drafts / f"run-{self.driver}")]
        argv = ["buildah", "--storage-driver", self.driver, *places, *words]
        self.shop.run(argv, update, {"CONTAINERS_STORAGE_CONF": str(settings)})

    def succeeds(self, words: Sequence[str]) -> bool:
        try:
            self.buildah(words)
        except errors.CommandFailedError:
            return False
        return True

    def ensure_image(self, image: Path, progress: Progress) -> None:
        """Take in an archive; an image of the same name but other content does not count."""
        identity = archive.identity(image).removeprefix("sha256:")
        if not self.succeeds(["inspect", "--type", "image", identity]):
            with progress.step(f"{image.stem} taken in by buildah (about 10 s, once)") as update:
                self.buildah(["pull", f"docker-archive:{image}"], update)

    def build(self, name: str, words: Sequence[str], update: Update) -> str:
        """Build under this name and return the image's ID."""
        identity = self.shop.drafts / "identity"
        try:
            self.buildah(["build", *OPTIONS, f"--tag={name}", f"--iidfile={identity}", *words], update)
        except errors.CommandFailedError as error:
            hint = (
                f"\nThe cache may be damaged: remove {self.root} and try again."
                if str(self.root) in error.output
                else ""
            )
            raise errors.LocalkubeError(f"{name} cannot be built:\n{error.output}{hint}") from None
        return identity.read_text().strip()

    def prune(self) -> None:
        """Forget the layers that no named image is made of any more."""
        self.buildah(["rmi", "--prune"])

    def export(self, name: str, target: Path) -> None:
        draft = self.shop.drafts / "image.tar"
        self.buildah(["push", name, f"docker-archive:{draft}:{name}"])
        draft.rename(target)


def opened(shop: Workshop, place: Path) -> Storage:
    """Give a storage that works: without the containers of builds that were killed, and empty if it is damaged."""
    driver = _driver(shop)
    storage = Storage(shop, place / driver, driver)
    if not storage.succeeds(["rm", "--all"]) and storage.root.exists():
        shutil.rmtree(storage.root)
    return storage


def _driver(shop: Workshop) -> str:
    """Prefer overlays, which do not copy every layer; they do not go on the overlay that is a container's disk."""
    trial = Storage(shop, shop.drafts / "trial", "overlay")
    return "overlay" if trial.succeeds(["info"]) else "vfs"
