"""Finds binaries that this machine already has, and takes only those of the right version."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from localkube import commands, errors
from localkube.binaries import catalog
from localkube.binaries.catalog import Binary, Version

# Directories that somebody filled for this purpose, in the order of their authority.
PURPOSED = ("LOCALKUBE_ASSETS", "KUBEBUILDER_ASSETS")
ANSWER_LIMIT = 10.0
# A program that needs this machine's settings to answer would not work inside a node either.
_BARE = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent")


@dataclass(frozen=True)
class Found:
    binary: Binary
    path: Path
    version: Version


def found(environment: Mapping[str, str]) -> list[Found]:
    return [one for binary in catalog.BINARIES if (one := find(binary, environment))]


def key(files: Iterable[Found]) -> str:
    """Equal for equal files, as far as one can tell without reading them."""
    looked_at = [(one.binary.name, one.path.stat()) for one in files]
    rows = [(name, status.st_size, status.st_mtime_ns) for name, status in looked_at]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:10]


def find(binary: Binary, environment: Mapping[str, str]) -> Found | None:
    if not binary.question:
        return None
    for path in candidates(binary.name, environment):
        version = version_of(binary, path)
        if version is not None and binary.accepts(version):
            return Found(binary, path, version)
    return None


def candidates(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """On PATH, scripts do not count: they call other files, which a node does not have."""
    for variable in PURPOSED:
        if directory := environment.get(variable):
            path = Path(directory) / name
            if _runs(path):
                yield path
    for directory in environment.get("PATH", "").split(os.pathsep):
        path = Path(directory) / name
        if path.is_absolute() and _runs(path) and _is_machine_code(path):
            yield path


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_machine_code(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def version_of(binary: Binary, path: Path) -> Version | None:
    try:
        said = commands.run([*_BARE, str(path.absolute()), *binary.question], timeout=ANSWER_LIMIT)
    except errors.CommandFailedError:
        return None
    return binary.version_in(said)
