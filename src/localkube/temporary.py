"""A home for as long as a program needs one; what a killed program left goes when the next one comes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localkube import clusters, lock
from localkube.paths import Home
from localkube.progress import Progress

PLACE = Path("/var/tmp")  # noqa: S108 the names in it are not to be guessed, and sockets need them short
PREFIX = "lk-"
IN_USE = ".in-use"


@contextmanager
def home(cache: Path, progress: Progress, place: Path = PLACE) -> Iterator[Home]:
    """Give an empty home, which goes at the end with all of its clusters."""
    sweep(place, progress)
    state = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    own = Home(state, cache)
    with lock.exclusive(state / f"{IN_USE}.new", "", progress.say):
        (state / f"{IN_USE}.new").rename(state / IN_USE)  # under this name it is held from its first moment
        try:
            yield own
        finally:
            _remove(own, progress)


def sweep(place: Path, progress: Progress) -> None:
    for mark in sorted(place.glob(f"{PREFIX}*/{IN_USE}")):
        with lock.first_free(iter([mark])) as held:
            # Whoever had it may have ended in order meanwhile: then the file that we hold is nobody's.
            if held is not None and mark.exists() and mark.stat().st_uid == os.geteuid():
                _remove(Home(mark.parent, mark.parent / "cache"), progress)


def _remove(own: Home, progress: Progress) -> None:
    for paths in own.clusters():
        clusters.down(own, paths.name, progress)
    shutil.rmtree(own.state)
