"""A node's container runtime: which images it has, and the snapshots that stand for their layers."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localkube import errors
from localkube.images import layers
from localkube.init.control import Control
from localkube.init.root import LAYERS
from localkube.nodeplane import CONTAINERD_SOCKET

CTR = ("ctr", "--namespace", "k8s.io")
SNAPSHOTS = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots"
# A snapshot is kept as long as it has the first, or as something that is kept has the second with its name.
KEPT = "containerd.io/gc.root"
KEEPS = "containerd.io/gc.ref.snapshot.overlayfs"
INSTEAD = 'rmdir "$1" && ln --symbolic "$2" "$1"'


@dataclass(frozen=True)
class Runtime:
    control: Control

    def runs(self) -> bool:
        try:
            self.control.run_inside(["test", "-S", CONTAINERD_SOCKET])
        except errors.CommandFailedError:
            return False
        return True

    def manifests(self) -> dict[str, str]:
        """Return what each image's name stands for; an image has its ID as one of its names."""
        rows = [row.split() for row in self._ask("images", "list").splitlines()[1:]]
        return {name: manifest for name, _, manifest, *_ in rows}

    def tag(self, name: str, other: str) -> None:
        """Have an image under another name, too."""
        self._ask("images", "tag", "--force", name, other)

    def remove(self, names: Iterable[str]) -> None:
        """Take names from images, and have what nothing needs any more gone."""
        self._ask("images", "remove", "--sync", *names)

    def add(self, outline: bytes, identity: str, chain: Sequence[str]) -> None:
        """Have an image: its layers, the lowest first, are directories that the node can read."""
        known = {row.split()[0] for row in self._ask("snapshots", "list").splitlines()[1:]}
        for name, parent in zip(chain, ["", *chain], strict=False):
            if name not in known:
                self._adopt(name, parent, known)
        self._ask("images", "import", "--digests=false", "--no-unpack", "-", stdin=outline)
        # From now on the image keeps its snapshots, also those that a killed predecessor left.
        for top in chain[-1:]:
            self._ask("content", "label", identity, f"{KEEPS}={top}")
        for name in chain:
            self._ask("snapshots", "label", name, f"{KEPT}=")

    def _adopt(self, name: str, parent: str, known: set[str]) -> None:
        """Have a snapshot whose files are those of a layer's directory: to copy them would take time and space."""
        draft = f"draft-{name}"
        if draft in known:
            self._ask("snapshots", "remove", draft)
        (mount,) = json.loads(self._ask("snapshots", "prepare", "--mounts", draft, *([parent] if parent else [])))
        place = next((option for option in mount["Options"] if option.startswith("upperdir=")), mount["Source"])
        words = ["sh", "-c", INSTEAD, "sh", place.removeprefix("upperdir="), str(LAYERS / layers.name_of(name))]
        self.control.run_inside(words)
        self._ask("snapshots", "commit", name, draft)

    def layers(self) -> set[str]:
        """Name the directories of layers that snapshots stand for."""
        links = ["find", SNAPSHOTS, "-mindepth", "2", "-maxdepth", "2", "-type", "l", "-printf", "%l\\n"]
        return {link.removeprefix(f"{LAYERS}/") for link in self.control.run_inside(links).splitlines()}

    def _ask(self, *words: str, stdin: bytes | None = None) -> str:
        return self.control.run_inside([*CTR, *words], stdin=stdin)
