"""The programs of a cluster in one directory of the cache: found on this machine, or built once from source."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localkube import errors, lock
from localkube.binaries import build, catalog, find, golang
from localkube.paths import Home
from localkube.progress import Progress

WAITING = "Another localkube is getting the binaries; waiting for it to finish."
_DRAFT = ".draft-"


def place(home: Home) -> Path:
    """Give the directory for them; each file in it is whole, since it got its name by a rename."""
    return home.cache.absolute() / "bin" / catalog.key()


def are_awaited(home: Home) -> bool:
    """Tell whether somebody is getting them right now."""
    return lock.is_held(_lock(home))


def ensure(home: Home, progress: Progress) -> Path:
    """Give the directory with every binary in it."""
    directory = place(home)
    if catalog.missing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with lock.exclusive(_lock(home), WAITING, progress.say), _draft(directory.parent) as draft:
            _fill(directory, draft, home, progress)
    return directory


def _lock(home: Home) -> Path:
    return place(home).with_name(".lock")


@contextmanager
def _draft(directory: Path) -> Iterator[Path]:
    """Give a place to work in, and clear away those of killed predecessors."""
    for left in directory.glob(f"{_DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)  # a compiler that outlived its killed parent may still write
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=directory))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(directory: Path, draft: Path, home: Home, progress: Progress) -> None:
    """Bring in what is missing: the predecessor we waited for may have done it all."""
    found = [one for binary in catalog.missing(directory) if (one := find.find(binary, os.environ))]
    for one in found:
        progress.say(f"Using {one.binary.name} {catalog.dotted(one.version)} from {one.path}.")
        _copy(one.path, draft / one.binary.name)
    _publish([one.binary for one in found], draft, directory)
    if to_build := catalog.missing(directory):
        builder = build.Builder(golang.ensure(home, progress), draft, progress)
        builder.build(to_build, lambda built: _publish(built, draft, directory))


def _copy(source: Path, target: Path) -> None:
    """Copy and not link: nodes see the cache's directory, and not where the link would lead."""
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise errors.LocalkubeError(f"{source} could not be copied to the cache: {error.strerror}") from None


def _publish(binaries: Sequence[catalog.Binary], draft: Path, directory: Path) -> None:
    os.sync()  # a machine that loses its power must not find an empty file under the final name
    for binary in binaries:
        path = draft / binary.name
        path.chmod(0o755)
        path.rename(directory / binary.name)
