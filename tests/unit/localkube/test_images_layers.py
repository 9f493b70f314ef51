"""Layers as directories: each once, whole or not at all, with what they hide hidden from overlays, too."""

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from pathlib import Path

import pytest

from localkube import errors
from localkube.images import archive, layers

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root unpacks what is others'")


def _layer(*names: str) -> bytes:
    """Give a tar file of directories, which end with /, and of files that hold their names."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name in names:
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.mode, entry.size = (0o755, 0) if name.endswith("/") else (0o644, len(name))
            entry.uid, entry.gid = 12, 34
            tar.addfile(entry, None if name.endswith("/") else io.BytesIO(name.encode()))
    return written.getvalue()


def _digest(layer: bytes) -> str:
    return hashlib.sha256(layer).hexdigest()


def _chained(lower: bytes, upper: bytes) -> str:
    return hashlib.sha256(f"sha256:{_digest(lower)} sha256:{_digest(upper)}".encode()).hexdigest()


def _image(path: Path, *contents: bytes, told: list[str] | None = None) -> Path:
    """Write an image of these layers; `told` is what it says of their digests."""
    digests = told or [_digest(content) for content in contents]
    config = json.dumps({"rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]}})
    names = [f"{number}.tar" for number, _ in enumerate(contents)]
    manifest = [{"Config": "config.json", "RepoTags": ["localhost/app:1"], "Layers": names}]
    parts = {"manifest.json": json.dumps(manifest).encode(), "config.json": config.encode()}
    with tarfile.open(path, "w") as tar:
        for name, content in {**parts, **dict(zip(names, contents, strict=True))}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


@as_root
def test_each_layer_is_unpacked_under_its_name_with_its_owners_and_only_once(tmp_path: Path) -> None:
    lower, upper = _layer("etc/", "etc/hosts"), _layer("srv/", "srv/file")
    image, place = _image(tmp_path / "image.tar", lower, upper), tmp_path / "layers"
    place.mkdir()
    layers.unpack(image, place)
    assert {path.name for path in place.iterdir()} == {_digest(lower), _chained(lower, upper)}
    file = place / _chained(lower, upper) / "srv/file"
    assert (file.read_text(), file.stat().st_uid, file.stat().st_gid) == ("srv/file", 12, 34)
    assert stat.S_IMODE((place / _digest(lower)).stat().st_mode) == 0o755
    file.write_text("as it was left")
    layers.unpack(image, place)
    assert file.read_text() == "as it was left"


@as_root
def test_a_layer_that_an_image_has_twice_is_two_directories(tmp_path: Path) -> None:
    layer, place = _layer("file"), tmp_path / "layers"
    place.mkdir()
    layers.unpack(_image(tmp_path / "image.tar", layer, layer), place)
    assert {path.name for path in place.iterdir()} == {_digest(layer), _chained(layer, layer)}


@as_root
def test_a_compressed_layer_is_known_by_what_is_compressed(tmp_path: Path) -> None:
    layer = _layer("file")
    image = _image(tmp_path / "image.tar", gzip.compress(layer), told=[_digest(layer)])
    layers.unpack(image, tmp_path)
    assert (tmp_path / _digest(layer) / "file").read_text() == "file"


@as_root
def test_what_is_gone_is_marked_as_overlays_mark_it(tmp_path: Path) -> None:
    layer = _layer("etc/", "etc/.wh.hosts", "srv/", "srv/.wh..wh..opq", "srv/new", ".wh..wh.plnk")
    layers.unpack(_image(tmp_path / "image.tar", layer), tmp_path)
    root = tmp_path / _digest(layer)
    gone = (root / "etc/hosts").lstat()
    assert (stat.S_ISCHR(gone.st_mode), gone.st_rdev) == (True, 0)
    assert os.getxattr(root / "srv", "trusted.overlay.opaque") == b"y"
    assert sorted(path.name for path in root.rglob("*")) == ["etc", "hosts", "new", "srv"]


@pytest.mark.parametrize("content", [_layer("other"), b"no tar file", gzip.compress(_layer("file"))[:-20]])
def test_a_layer_that_is_not_what_it_should_be_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    image, place = _image(tmp_path / "image.tar", content, told=["0" * 64]), tmp_path / "layers"
    place.mkdir()
    with pytest.raises(errors.LocalkubeError):
        layers.unpack(image, place)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("told", [["0" * 64, "1" * 64], [".."]])
def test_an_image_that_does_not_name_its_layers_is_refused(tmp_path: Path, told: list[str]) -> None:
    image = _image(tmp_path / "image.tar", _layer("file"), told=told)
    with pytest.raises(errors.LocalkubeError, match="not every layer"):
        layers.unpack(image, tmp_path)


def test_drafts_of_the_killed_are_swept_and_what_nobody_needs_is_removed(tmp_path: Path) -> None:
    for name in (".draft-old", ".lock", "needed", "stale"):
        (tmp_path / name / "deep").mkdir(parents=True)
    layers.keep(tmp_path, {"needed"})
    assert {path.name for path in tmp_path.iterdir()} == {".draft-old", ".lock", "needed"}
    layers.unpack(_image(tmp_path.parent / "image.tar"), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "needed"}


def test_an_outline_is_the_same_image_with_nothing_in_it(tmp_path: Path) -> None:
    image = _image(tmp_path / "image.tar", _layer("file", "other"), _layer("third"))
    outline = tmp_path / "outline.tar"
    outline.write_bytes(archive.outline(image))
    assert archive.identity(outline) == archive.identity(image)
    assert archive.references(outline) == archive.references(image)
    assert [layer.chain for layer in archive.layers(outline)] == [layer.chain for layer in archive.layers(image)]
    for layer in archive.layers(outline):
        with archive.opened_layer(outline, layer) as content, tarfile.open(fileobj=content) as tar:
            assert tar.getmembers() == []
