"""Loading: into the nodes that lack the image, under the name the kubelet asks for, and nothing else."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localkube import errors
from localkube.images import archive, layers, load
from localkube.init.control import Control
from localkube.progress import Progress

NAME = "localhost/app:1"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root unpacks what is others'")


@dataclass(frozen=True)
class Node(Control):
    """A node whose container runtime behaves as containerd does: names stand for manifests."""

    manifests: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    did: list[str] = field(default_factory=list)
    broken: bool = False
    starts_after: int = 0

    def run_inside(self, argv: list[str], *, stdin: str | bytes | None = None, timeout: float = 60.0) -> str:
        assert timeout > 0
        match argv:
            case ["test", *_]:
                self.did.append("look")
                if self.did.count("look") <= self.starts_after:
                    raise errors.CommandFailedError(argv, 1, "")
            case ["sh", "-c", _, _, draft, layer]:
                self.snapshots[draft] = layer
            case ["find", *_]:
                return "\n".join(self.snapshots.values())
            case ["ctr", "--namespace", "k8s.io", "images", *words]:
                return self._images(argv, words, stdin)
            case ["ctr", "--namespace", "k8s.io", "snapshots", *words]:
                return self._snapshots(words)
            case ["ctr", "--namespace", "k8s.io", "content", "label", identity, label]:
                self.labels[identity] = label
            case _:
                raise AssertionError(argv)
        return ""

    def _images(self, argv: list[str], words: list[str], stdin: str | bytes | None) -> str:
        self.did.append(words[0])
        match words:
            case ["list"]:
                rows = [f"{name} application/json {manifest} 1 MiB" for name, manifest in self.manifests.items()]
                return "\n".join(["REF TYPE DIGEST SIZE", *rows, ""])
            case ["remove", "--sync", *names]:
                for name in names:
                    del self.manifests[name]
                self._collect()
            case ["import", "--digests=false", "--no-unpack", "-"]:
                assert isinstance(stdin, bytes)
                self._import(argv, stdin)
        return ""

    def _import(self, argv: list[str], content: bytes) -> None:
        """Like containerd, add the ID only with a name that is new."""
        if self.broken:
            raise errors.CommandFailedError(argv, 1, "no space left on device")
        image = self.path.with_name(f"{self.what}.tar")
        image.write_bytes(content)
        identity = archive.identity(image)
        for name in archive.references(image):
            if name not in self.manifests:
                self.manifests[identity] = f"manifest-of-{identity}"
            self.manifests[name] = f"manifest-of-{identity}"

    def _snapshots(self, words: list[str]) -> str:
        match words:
            case ["list"]:
                return "\n".join(["KEY PARENT KIND", *(f"{name} - Committed" for name in self.snapshots)])
            case ["prepare", "--mounts", draft, *parents]:
                assert all(parent in self.snapshots for parent in parents)
                overlay = {"Type": "overlay", "Source": "overlay", "Options": ["index=off", f"upperdir={draft}"]}
                return json.dumps([overlay if parents else {"Type": "bind", "Source": draft, "Options": ["rw"]}])
            case ["commit", name, draft]:
                self.snapshots[name] = self.snapshots.pop(draft)
            case ["label", name, "containerd.io/gc.root="]:
                assert name in self.snapshots
        return ""

    def _collect(self) -> None:
        """Keep what an image that is there refers to."""
        kept = {label.partition("=")[2] for identity, label in self.labels.items() if identity in self.manifests}
        for name in set(self.snapshots) - kept:
            del self.snapshots[name]


def _node(tmp_path: Path, number: int = 1, *, broken: bool = False, starts_after: int = 0) -> Node:
    return Node(tmp_path / "socket", f"node node-{number}", broken=broken, starts_after=starts_after)


def _image(tmp_path: Path, content: str, name: str = NAME) -> Path:
    program, layer, image = (tmp_path / f"{content}{suffix}" for suffix in ("", ".layer", ".tar"))
    program.write_text(content)
    archive.write_layer(layer, {"program": program})
    archive.write(image, name, layer)
    return image


def test_every_node_gets_the_image_once(tmp_path: Path, progress: Progress) -> None:
    nodes, image = [_node(tmp_path, number) for number in (1, 2, 3)], _image(tmp_path, "one")
    load.load([*nodes], image, tmp_path / "layers", progress)
    load.load([*nodes], image, tmp_path / "layers", progress)
    for node in nodes:
        assert node.did.count("import") == 1
        assert node.manifests[NAME] == node.manifests[archive.identity(image)]


def test_only_the_node_that_lacks_the_image_gets_it(tmp_path: Path, progress: Progress) -> None:
    nodes, image = [_node(tmp_path, number) for number in (1, 2)], _image(tmp_path, "one")
    load.load([nodes[0]], image, tmp_path / "layers", progress)
    load.load([*nodes], image, tmp_path / "layers", progress)
    assert [node.did.count("import") for node in nodes] == [1, 1]


def test_other_content_under_the_same_name_replaces_the_old_and_leaves_nothing_of_it(
    tmp_path: Path, progress: Progress
) -> None:
    node, old, new = _node(tmp_path), _image(tmp_path, "old"), _image(tmp_path, "new")
    load.load([node], old, tmp_path / "layers", progress)
    load.load([node], new, tmp_path / "layers", progress)
    assert set(node.manifests) == {NAME, archive.identity(new)}
    assert node.manifests[NAME] == node.manifests[archive.identity(new)]
    (layer,) = archive.layers(new)
    name = layers.name_of(layer.chain)
    assert node.snapshots == {f"sha256:{name}": f"/opt/localkube/layers/{name}"}
    assert [path.name for path in (tmp_path / "layers").iterdir() if path.is_dir()] == [name]


def test_replaced_content_that_has_another_name_stays(tmp_path: Path, progress: Progress) -> None:
    node, old, new = _node(tmp_path), _image(tmp_path, "old"), _image(tmp_path, "new")
    load.load([node], old, tmp_path / "layers", progress)
    node.manifests["localhost/kept:1"] = node.manifests[NAME]
    load.load([node], new, tmp_path / "layers", progress)
    assert archive.identity(old) in node.manifests
    assert node.manifests["localhost/kept:1"] == node.manifests[archive.identity(old)]


def test_a_name_without_a_registry_is_looked_for_as_the_kubelet_will(tmp_path: Path, progress: Progress) -> None:
    node = _node(tmp_path)
    load.load([node], _image(tmp_path, "one", "app:1"), tmp_path / "layers", progress)
    assert "docker.io/library/app:1" in node.manifests


def test_a_runtime_that_is_still_starting_is_waited_for(tmp_path: Path, progress: Progress) -> None:
    node = _node(tmp_path, starts_after=2)
    load.load([node], _image(tmp_path, "one"), tmp_path / "layers", progress)
    assert node.did[:4] == ["look", "look", "look", "list"]
    assert NAME in node.manifests


def test_a_failure_names_its_node_and_its_reason_and_spares_the_others(tmp_path: Path, progress: Progress) -> None:
    good, bad = _node(tmp_path, 1), _node(tmp_path, 2, broken=True)
    with pytest.raises(errors.LocalkubeError, match=r"node node-2: .*no space left on device") as caught:
        load.load([bad, good], _image(tmp_path, "one"), tmp_path / "layers", progress)
    assert "node-1" not in str(caught.value)
    assert NAME in good.manifests


def test_a_node_that_is_not_running_is_named(tmp_path: Path, progress: Progress) -> None:
    with pytest.raises(errors.LocalkubeError, match="could not be loaded; node node-7 is not running"):
        load.load([Control(tmp_path / "absent", "node node-7")], _image(tmp_path, "one"), tmp_path / "layers", progress)
