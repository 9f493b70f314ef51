"""Layers of images as directories: unpacked once for all nodes of a cluster, which only read them."""

import contextlib
import gzip
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from localkube import commands, errors
from localkube.images import archive
from localkube.images.archive import Layer

TAR = (
    "tar",
    "--extract",
    "--numeric-owner",
    "--same-owner",
    "--preserve-permissions",
    "--xattrs",
    "--xattrs-include=*",
)
# How a layer says that something of the layers below it is gone, and how the kernel is told of it.
GONE = ".wh."
MARKS = f"{GONE}{GONE}"
ALL_GONE = f"{MARKS}.opq"
OPAQUE = "trusted.overlay.opaque"
GZIP = b"\x1f\x8b"
AT_ONCE = 1 << 20
_DRAFT = ".draft-"


def unpack(image: Path, place: Path) -> None:
    """Have each layer of the image at `place`; one that has its name there is whole.

    It is named with those below it: overlays do not take the same directory twice, and images may have a layer twice.
    """
    for left in place.glob(f"{_DRAFT}*"):
        shutil.rmtree(left)
    for layer in archive.layers(image):
        if not (place / name_of(layer.chain)).exists():
            _unpack(image, layer, place)


def name_of(chain: str) -> str:
    """Name a layer's directory; in options of overlays, a colon separates directories."""
    return chain.removeprefix("sha256:")


def keep(place: Path, names: Iterable[str]) -> None:
    """Remove the other layers, which no node has any more."""
    kept = set(names)
    for directory in place.iterdir():
        if not directory.name.startswith(".") and directory.name not in kept:
            shutil.rmtree(directory)


def _unpack(image: Path, layer: Layer, place: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=place) as scratch:
        draft = Path(scratch) / "layer"
        draft.mkdir(mode=0o755)
        if _extracted(image, layer, draft) != layer.digest:
            raise errors.LocalkubeError(f"{image} is damaged: its layer {layer.member} is not what it should be")
        _hide(draft)
        draft.rename(place / name_of(layer.chain))


def _extracted(image: Path, layer: Layer, target: Path) -> str:
    with archive.opened_layer(image, layer) as content:
        try:
            return _extract(content, target)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return ""


def _extract(content: IO[bytes], target: Path) -> str:
    """Unpack a tar file, compressed or not, and return the digest of the tar file itself."""
    argv = commands.bound_to_parent([*TAR, f"--directory={target}"])
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as unpacking:
            digest = _pour(_plain(content), unpacking)
        if unpacking.returncode != 0:
            said.seek(0)
            raise errors.CommandFailedError(argv, unpacking.returncode, said.read().decode(errors="replace"))
    return digest


def _pour(source: IO[bytes] | gzip.GzipFile, into: "subprocess.Popen[bytes]") -> str:
    digest = hashlib.sha256()
    if into.stdin is not None:
        with contextlib.suppress(BrokenPipeError), into.stdin:  # why it ended, it says itself
            while part := source.read(AT_ONCE):
                digest.update(part)
                into.stdin.write(part)
    return f"sha256:{digest.hexdigest()}"


def _plain(content: IO[bytes]) -> IO[bytes] | gzip.GzipFile:
    begins = content.read(len(GZIP))
    content.seek(0)
    return gzip.GzipFile(fileobj=content) if begins == GZIP else content


def _hide(root: Path) -> None:
    """Turn the marks of what is gone into those that overlays know."""
    for place, _, names in os.walk(root):
        for name in names:
            if name.startswith(GONE):
                mark = Path(place) / name
                mark.unlink()
                if name == ALL_GONE:
                    os.setxattr(place, OPAQUE, b"y")
                elif not name.startswith(MARKS):
                    os.mknod(mark.with_name(name.removeprefix(GONE)), stat.S_IFCHR, os.makedev(0, 0))
