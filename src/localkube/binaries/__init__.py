"""The programs of a cluster in one directory of the cache: built once from source, or found on this machine."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localkube import errors, lock
from localkube.binaries import build, catalog, find, golang
from localkube.binaries.find import Found
from localkube.paths import Home
from localkube.progress import Progress

WAITING = "Another localkube is getting the binaries; waiting for it to finish."
_DRAFT = ".draft-"


def place(home: Home) -> Path:
    """Give the directory for them; each file in it is whole, since it got its name by a rename."""
    return _place(home, find.found(os.environ))


def _place(home: Home, found: Sequence[Found] = ()) -> Path:
    """Keep those that were built apart from those that somebody has, who may have others tomorrow."""
    return home.cache.absolute() / "bin" / "-".join([catalog.key(), *([find.key(found)] if found else [])])


def are_awaited(home: Home) -> bool:
    """Tell whether somebody is getting them right now."""
    return lock.is_held(_lock(home))


def ensure(home: Home, progress: Progress) -> Path:
    """Give the directory with every binary in it."""
    found = find.found(os.environ)
    directory = _place(home, found)
    if catalog.missing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with lock.exclusive(_lock(home), WAITING, progress.say), _draft(directory.parent) as draft:
            _build(found, draft, home, progress)
            if found:
                _gather(found, draft, home, progress)
    return directory


def _lock(home: Home) -> Path:
    return _place(home).with_name(".lock")


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


def _build(found: Sequence[Found], draft: Path, home: Home, progress: Progress) -> None:
    """Build what is missing: the predecessor we waited for may have done it all."""
    directory, others = _place(home), {one.binary for one in found}
    if to_build := [binary for binary in catalog.missing(directory) if binary not in others]:
        builder = build.Builder(golang.ensure(home, progress), draft, progress)
        builder.build(to_build, lambda built: _publish(built, draft, directory))


def _gather(found: Sequence[Found], draft: Path, home: Home, progress: Progress) -> None:
    """Bring together what was found and what was built."""
    directory, others = _place(home, found), {one.binary: one for one in found}
    missing = catalog.missing(directory)
    for binary in missing:
        if one := others.get(binary):
            progress.say(f"Using {binary.name} {catalog.dotted(one.version)} from {one.path}.")
            _copy(one.path, draft / binary.name)
        else:
            (draft / binary.name).hardlink_to(_place(home) / binary.name)
    _publish(missing, draft, directory)


def _copy(source: Path, target: Path) -> None:
    """Copy and not link: nodes see the cache's directory, and not where the link would lead."""
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise errors.LocalkubeError(f"{source} could not be copied to the cache: {error.strerror}") from None


def _publish(binaries: Sequence[catalog.Binary], draft: Path, directory: Path) -> None:
    os.sync()  # a machine that loses its power must not find an empty file under the final name
    directory.mkdir(exist_ok=True)
    for binary in binaries:
        path = draft / binary.name
        path.chmod(0o755)
        path.rename(directory / binary.name)
