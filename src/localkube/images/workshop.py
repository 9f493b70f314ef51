"""Where images are made: one maker at a time, in namespaces that end with it, on drafts that the next one sweeps."""

import collections
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localkube import commands, errors, lock
from localkube.paths import Home
from localkube.progress import Update

KEPT_LINES = 20
LONGEST_DETAIL = 100
# Mounts and processes of a tool that is killed half way go with its namespaces.
_ISOLATED = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True)
class Workshop:
    drafts: Path
    descriptor: int

    def run(
        self,
        argv: Sequence[str],
        update: Callable[[str], None] = lambda _: None,
        environment: Mapping[str, str] | None = None,
        *,
        network: bool = False,
    ) -> None:
        """Run a tool to its end, telling its lines as they come; its last ones are in the error when it fails."""
        if shutil.which(argv[0]) is None:
            raise errors.LocalkubeError(f"{argv[0]} is not installed: install the package {argv[0]}")
        isolated = [*_ISOLATED, *([] if network else ["--net"]), "--", *argv]
        child = subprocess.Popen(
            commands.bound_to_parent(isolated),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(self.drafts), **(environment or {})},
            pass_fds=[self.descriptor],  # a child that outlives us by a moment still keeps the next one out
            text=True,
            errors="replace",
        )
        try:
            said = _follow(child, update)
            code = child.wait()
        finally:
            child.kill()
            child.wait()
        if code != 0:
            raise errors.CommandFailedError(argv, code, "\n".join(said))


def _follow(child: subprocess.Popen[str], update: Update) -> Sequence[str]:
    said: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
    if child.stdout is not None:
        with child.stdout:
            for line in child.stdout:
                if text := line.strip():
                    said.append(text)
                    update(text[:LONGEST_DETAIL])
    return said


def directory(home: Home) -> Path:
    place = home.cache / "images"
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def opened(home: Home, name: str, say: Callable[[str], None] = lambda _: None) -> Iterator[Workshop]:
    """Give the workshop of that name, with nothing in its drafts, to one process at a time."""
    place = directory(home)
    drafts = place / f".{name}.drafts"
    waiting = "Another localkube is making an image; waiting for it to finish."
    with lock.exclusive(place / f".{name}.lock", waiting, say) as descriptor:
        _sweep(drafts)
        drafts.mkdir(mode=0o700)
        try:
            yield Workshop(drafts, descriptor)
        finally:
            _sweep(drafts)


def _sweep(drafts: Path) -> None:
    if drafts.exists():
        shutil.rmtree(drafts)
