"""An image in one file, as `docker save` writes it: written from a layer, and read for what it holds."""

import hashlib
import io
import itertools
import json
import platform
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from localkube import errors
from localkube.images import reference, workshop
from localkube.nodeplane import PAUSE_IMAGE
from localkube.paths import Home

# To be raised with every change of what is written below.
RECIPE = 1
BEGINNING = "1970-01-01T00:00:00Z"
SEARCH_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
EMPTY_LAYER = bytes(2 * tarfile.BLOCKSIZE)


class Layer(NamedTuple):
    """A layer: what it is called in the archive, the digest of its tar file, and that of it with all below it."""

    member: str
    digest: str
    chain: str


def write(path: Path, name: str, layer: Path, entrypoint: Sequence[str] = ()) -> None:
    """Pack one layer, an uncompressed tar file, as an image; the same layer always gives the same bytes."""
    config = _encoded(_config(_digest(layer), entrypoint))
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        _add(archive, "manifest.json", _encoded(manifest))
        _add(archive, config_name, config)
        _add(archive, "layer.tar", layer)


def write_layer(path: Path, programs: Mapping[str, Path]) -> None:
    """Write a layer of executables, each under its path inside the image."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as layer:
        for inside, program in sorted(programs.items()):
            _add(layer, inside.lstrip("/"), program, mode=0o755)


def _config(layer: str, entrypoint: Sequence[str]) -> dict[str, Any]:
    machine = platform.machine()
    return {
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "created": BEGINNING,
        "config": {"Entrypoint": list(entrypoint) or None, "Env": [SEARCH_PATH]},
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": BEGINNING, "created_by": "localkube"}],
    }


def _encoded(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


def _add(archive: tarfile.TarFile, name: str, content: bytes | Path, mode: int = 0o644) -> None:
    """Add a file of root's from the beginning of time, copied piece by piece."""
    entry = tarfile.TarInfo(name)
    entry.mode = mode
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        entry.size = file.seek(0, io.SEEK_END)
        file.seek(0)
        archive.addfile(entry, file)


def identity(archive: Path) -> str:
    """Return the image's ID: the digest of its configuration, which names every layer by digest."""
    with _opened(archive) as file:
        return f"sha256:{hashlib.sha256(_member(file, _image(file)['Config'])).hexdigest()}"


def references(archive: Path) -> list[str]:
    """Return the image's names, in the form that the container runtime gives them."""
    with _opened(archive) as file:
        return [reference.full(name) for name in _image(file)["RepoTags"] or []]


def layers(archive: Path) -> list[Layer]:
    """Return the image's layers, the lowest first."""
    with _opened(archive) as file:
        image = _image(file)
        digests = json.loads(_member(file, image["Config"]))["rootfs"]["diff_ids"]
    if len(digests) != len(image["Layers"]) or not all(map(DIGEST.fullmatch, digests)):
        raise errors.LocalkubeError(f"{archive} is damaged: not every layer that it speaks of is in it")
    return [
        Layer(*known) for known in zip(image["Layers"], digests, itertools.accumulate(digests, _on_top), strict=True)
    ]


def _on_top(chain: str, digest: str) -> str:
    """Name a layer together with those below it, as container runtimes do."""
    return f"sha256:{hashlib.sha256(f'{chain} {digest}'.encode()).hexdigest()}"


@contextmanager
def opened_layer(archive: Path, layer: Layer) -> Iterator[IO[bytes]]:
    with _opened(archive) as file, _content(file, layer.member) as content:
        yield content


def outline(archive: Path) -> bytes:
    """Return the same image with nothing in its layers, for who has these already: its ID is the same."""
    written = io.BytesIO()
    with _opened(archive) as file, tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as thin:
        image = _image(file)
        _add(
            thin,
            "manifest.json",
            _encoded([{**image, "Layers": [f"{number}.tar" for number, _ in enumerate(image["Layers"])]}]),
        )
        _add(thin, image["Config"], _member(file, image["Config"]))
        for number, _ in enumerate(image["Layers"]):
            _add(thin, f"{number}.tar", EMPTY_LAYER)
    return written.getvalue()


def _opened(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive, "r:")
    except (OSError, tarfile.TarError) as error:
        raise errors.LocalkubeError(f"{archive} is not an image archive: {error}") from None


def _image(file: tarfile.TarFile) -> dict[str, Any]:
    images: list[dict[str, Any]] = json.loads(_member(file, "manifest.json"))
    if len(images) != 1:
        raise errors.LocalkubeError(f"{file.name!s} holds {len(images)} images: save one image per archive")
    return images[0]


def _member(file: tarfile.TarFile, name: str) -> bytes:
    with _content(file, name) as content:
        return content.read()


def _content(file: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        content = file.extractfile(name)
    except (KeyError, tarfile.TarError):
        content = None
    if content is None:
        raise errors.LocalkubeError(
            f"{file.name!s} is not an image archive as `docker save` writes it: no {name} in it"
        )
    return content


def pause_archive(home: Home, binaries: Path) -> Path:
    """Return the image whose one program holds a pod's namespaces open."""
    program = binaries / "pause"
    if not program.is_file():
        raise errors.LocalkubeError(f"there is no {program}: build the binaries first")
    return program_archive(home, PAUSE_IMAGE, {"pause": program}, ["/pause"])


def program_archive(home: Home, name: str, programs: Mapping[str, Path], entrypoint: Sequence[str]) -> Path:
    """Return the image that holds nothing but static programs, each under its path inside; made where it is missing."""
    contents = {path: _digest(program) for path, program in programs.items()}
    key = hashlib.sha256(_encoded([RECIPE, name, contents, list(entrypoint)])).hexdigest()[:12]
    archive = workshop.directory(home) / f"programs-{key}.tar"
    if archive.exists():
        return archive
    with workshop.opened(home, "programs") as shop:
        layer, draft = shop.drafts / "layer.tar", shop.drafts / "image.tar"
        write_layer(layer, programs)
        write(draft, name, layer, entrypoint)
        draft.rename(archive)
    return archive
