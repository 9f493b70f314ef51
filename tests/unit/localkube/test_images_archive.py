"""An image in one file: what the container runtime needs in it, byte for byte the same every time."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from localkube import errors
from localkube.images import archive
from localkube.nodeplane import PAUSE_IMAGE
from localkube.paths import Home


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "pause"
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 100)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(state=tmp_path / "state", cache=tmp_path / "cache")


def _member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as file:
        content = file.extractfile(name)
        assert content is not None
        return content.read()


def _configuration(path: Path) -> dict[str, Any]:
    (image,) = json.loads(_member(path, "manifest.json"))
    configuration: dict[str, Any] = json.loads(_member(path, image["Config"]))
    return configuration


def test_an_image_names_its_layer_by_the_digest_of_its_bytes(tmp_path: Path, program: Path) -> None:
    archive.write_layer(tmp_path / "layer.tar", {"/bin/pause": program})
    archive.write(tmp_path / "image.tar", "localhost/x:1", tmp_path / "layer.tar", ["/bin/pause"])
    layer = _member(tmp_path / "image.tar", "layer.tar")
    configuration = _configuration(tmp_path / "image.tar")
    assert layer == (tmp_path / "layer.tar").read_bytes()
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert configuration["config"]["Entrypoint"] == ["/bin/pause"]
    assert len(configuration["history"]) == 1, "buildah refuses a layer without history"


def test_a_program_in_a_layer_is_roots_and_can_be_run(tmp_path: Path, program: Path) -> None:
    program.chmod(0o600)
    archive.write_layer(tmp_path / "layer.tar", {"/bin/pause": program})
    with tarfile.open(tmp_path / "layer.tar") as layer:
        (entry,) = layer.getmembers()
    assert (entry.name, entry.mode, entry.uid, entry.gid, entry.mtime) == ("bin/pause", 0o755, 0, 0, 0)
    assert _member(tmp_path / "layer.tar", "bin/pause") == program.read_bytes()


def test_the_same_program_makes_the_same_bytes_whenever_and_wherever_it_lies(tmp_path: Path, program: Path) -> None:
    other = tmp_path / "elsewhere"
    other.write_bytes(program.read_bytes())
    written = []
    for number, source in enumerate((program, other)):
        layer, image = tmp_path / f"{number}.layer", tmp_path / f"{number}.tar"
        archive.write_layer(layer, {"pause": source})
        archive.write(image, "localhost/x:1", layer)
        written.append(image.read_bytes())
    assert written[0] == written[1]


def test_the_identity_is_the_digest_of_the_configuration_under_whatever_name_it_lies(tmp_path: Path) -> None:
    configuration = b'{"any": "thing"}'
    (tmp_path / "config").write_bytes(configuration)
    (tmp_path / "manifest").write_text(
        json.dumps([{"Config": "blobs/sha256/abc", "RepoTags": ["app:1", "localhost/app:2"], "Layers": []}])
    )
    with tarfile.open(tmp_path / "image.tar", "w") as file:
        file.add(tmp_path / "config", "blobs/sha256/abc")
        file.add(tmp_path / "manifest", "manifest.json")
    assert archive.identity(tmp_path / "image.tar") == f"sha256:{hashlib.sha256(configuration).hexdigest()}"
    assert archive.references(tmp_path / "image.tar") == ["docker.io/library/app:1", "localhost/app:2"]


def test_a_file_that_is_no_image_is_refused_in_words(tmp_path: Path, program: Path) -> None:
    archive.write_layer(tmp_path / "layer.tar", {"pause": program})
    for path in (program, tmp_path / "layer.tar", tmp_path / "absent"):
        with pytest.raises(errors.LocalkubeError, match="is not an image archive"):
            archive.identity(path)


def test_an_archive_of_two_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest").write_text(json.dumps([{"Config": "a"}, {"Config": "b"}]))
    with tarfile.open(tmp_path / "image.tar", "w") as file:
        file.add(tmp_path / "manifest", "manifest.json")
    with pytest.raises(errors.LocalkubeError, match="holds 2 images"):
        archive.identity(tmp_path / "image.tar")


def test_the_pause_image_is_made_once_and_anew_for_another_binary(home: Home, program: Path) -> None:
    first = archive.pause_archive(home, program.parent)
    made = first.stat()
    assert archive.references(first) == [PAUSE_IMAGE]
    assert _configuration(first)["config"]["Entrypoint"] == ["/pause"]
    assert archive.pause_archive(home, program.parent) == first
    assert first.stat().st_ino == made.st_ino
    program.write_bytes(b"another")
    second = archive.pause_archive(home, program.parent)
    assert archive.identity(second) != archive.identity(first)


def test_without_a_pause_binary_the_person_is_told_what_to_do(home: Home, tmp_path: Path) -> None:
    with pytest.raises(errors.LocalkubeError, match="build the binaries first"):
        archive.pause_archive(home, tmp_path / "nowhere")
