"""Loading: into the nodes that lack the image, under the name the kubelet asks for, and nothing else."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from localkube import errors
from localkube.images import archive, load
from localkube.init.control import Control
from localkube.progress import Progress

NAME = "localhost/app:1"


@dataclass(frozen=True)
class Runtime(Control):
    """A node whose container runtime behaves as containerd does: names stand for manifests."""

    manifests: dict[str, str] = field(default_factory=dict)
    did: list[str] = field(default_factory=list)
    broken: bool = False
    starts_after: int = 0

    def run_inside(self, argv: list[str], *, stdin: str | IO[bytes] | None = None, timeout: float = 60.0) -> str:
        assert timeout > 0
        if argv[0] == "test":
            self.did.append("look")
            if self.did.count("look") <= self.starts_after:
                raise errors.CommandFailedError(argv, 1, "")
            return ""
        assert argv[:4] == ["ctr", "--namespace", "k8s.io", "images"]
        self.did.append(argv[4])
        match argv[4]:
            case "list":
                rows = [f"{name} application/json {manifest} 1 MiB" for name, manifest in self.manifests.items()]
                return "\n".join(["REF TYPE DIGEST SIZE", *rows, ""])
            case "remove":
                for name in argv[5:]:
                    del self.manifests[name]
            case "import":
                assert isinstance(stdin, io.BufferedReader)
                self._import(argv, Path(stdin.name))
        return ""

    def _import(self, argv: list[str], image: Path) -> None:
        """Like containerd, add the ID only with a name that is new."""
        if self.broken:
            raise errors.CommandFailedError(argv, 1, "no space left on device")
        identity = archive.identity(image)
        for name in archive.references(image):
            if name not in self.manifests:
                self.manifests[identity] = f"manifest-of-{identity}"
            self.manifests[name] = f"manifest-of-{identity}"


def _node(tmp_path: Path, number: int = 1, *, broken: bool = False, starts_after: int = 0) -> Runtime:
    return Runtime(tmp_path / "socket", f"node node-{number}", broken=broken, starts_after=starts_after)


def _image(tmp_path: Path, content: str, name: str = NAME) -> Path:
    program, layer, image = (tmp_path / f"{content}{suffix}" for suffix in ("", ".layer", ".tar"))
    program.write_text(content)
    archive.write_layer(layer, {"program": program})
    archive.write(image, name, layer)
    return image


def test_every_node_gets_the_image_once(tmp_path: Path, progress: Progress) -> None:
    nodes, image = [_node(tmp_path, number) for number in (1, 2, 3)], _image(tmp_path, "one")
    load.load([*nodes], image, progress)
    load.load([*nodes], image, progress)
    for node in nodes:
        assert node.did.count("import") == 1
        assert node.manifests[NAME] == node.manifests[archive.identity(image)]


def test_only_the_node_that_lacks_the_image_gets_it(tmp_path: Path, progress: Progress) -> None:
    nodes, image = [_node(tmp_path, number) for number in (1, 2)], _image(tmp_path, "one")
    load.load([nodes[0]], image, progress)
    load.load([*nodes], image, progress)
    assert [node.did.count("import") for node in nodes] == [1, 1]


def test_other_content_under_the_same_name_replaces_the_old_and_leaves_nothing_of_it(
    tmp_path: Path, progress: Progress
) -> None:
    node, old, new = _node(tmp_path), _image(tmp_path, "old"), _image(tmp_path, "new")
    load.load([node], old, progress)
    load.load([node], new, progress)
    assert set(node.manifests) == {NAME, archive.identity(new)}
    assert node.manifests[NAME] == node.manifests[archive.identity(new)]


def test_replaced_content_that_has_another_name_stays(tmp_path: Path, progress: Progress) -> None:
    node, old, new = _node(tmp_path), _image(tmp_path, "old"), _image(tmp_path, "new")
    load.load([node], old, progress)
    node.manifests["localhost/kept:1"] = node.manifests[NAME]
    load.load([node], new, progress)
    assert archive.identity(old) in node.manifests
    assert node.manifests["localhost/kept:1"] == node.manifests[archive.identity(old)]


def test_a_name_without_a_registry_is_looked_for_as_the_kubelet_will(tmp_path: Path, progress: Progress) -> None:
    node = _node(tmp_path)
    load.load([node], _image(tmp_path, "one", "app:1"), progress)
    assert "docker.io/library/app:1" in node.manifests


def test_a_runtime_that_is_still_starting_is_waited_for(tmp_path: Path, progress: Progress) -> None:
    node = _node(tmp_path, starts_after=2)
    load.load([node], _image(tmp_path, "one"), progress)
    assert node.did[:4] == ["look", "look", "look", "list"]
    assert NAME in node.manifests


def test_a_failure_names_its_node_and_its_reason_and_spares_the_others(tmp_path: Path, progress: Progress) -> None:
    good, bad = _node(tmp_path, 1), _node(tmp_path, 2, broken=True)
    with pytest.raises(errors.LocalkubeError, match=r"node node-2: .*no space left on device") as caught:
        load.load([bad, good], _image(tmp_path, "one"), progress)
    assert "node-1" not in str(caught.value)
    assert NAME in good.manifests


def test_a_node_that_is_not_running_is_named(tmp_path: Path, progress: Progress) -> None:
    with pytest.raises(errors.LocalkubeError, match="could not be loaded; node node-7 is not running"):
        load.load([Control(tmp_path / "absent", "node node-7")], _image(tmp_path, "one"), progress)
