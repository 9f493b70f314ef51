"""Has all that tests on clusters are made of, before they begin: Kubernetes, and meanwhile the images."""

import contextlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console

from localkube import binaries, errors, packages, preflight
from localkube.paths import Home
from localkube.progress import Progress
from support import helm, paddlebox, testimages

PACKAGES = "packages"
OWN_GROUP = Path("/proc/self/autogroup")
LOWEST = 19
# For each cluster of three nodes 32 are needed.
ENOUGH_WATCHERS = 512


def main(words: list[str]) -> None:
    """Have programs of the system alone, which other tests need, too, or the rest beside these tests."""
    home = Home.from_environment()
    if problems := preflight.problems(home):
        print(f"NO KUBERNETES HERE: {' '.join(problems)}", file=sys.stderr)  # noqa: T201 for the person who waits
        return
    try:
        if words == [PACKAGES]:
            packages.ensure(Progress())
            let_watch()
        else:
            step_back()
            provide(home)
    except errors.LocalkubeError as error:
        sys.exit(f"error: {error}")


def let_watch() -> None:
    """Have room for all clusters that are up at once, also on machines as they come: these would have four at most."""
    limit = preflight.watchers_allowed()
    if limit < ENOUGH_WATCHERS:
        with contextlib.suppress(OSError):  # in a container it may not be ours to change; clusters that lack it say so
            preflight.WATCHERS.write_text(str(ENOUGH_WATCHERS))
            said = f"fs.inotify.max_user_instances is {ENOUGH_WATCHERS} until the next boot; it was {limit}"
            print(said, file=sys.stderr)  # noqa: T201 for the person whose machine it is


def step_back() -> None:
    """Take what processors others leave. The kernel shares them between sessions first, and then between processes."""
    os.setsid()
    os.nice(LOWEST)
    with contextlib.suppress(OSError):  # not every kernel has such groups
        OWN_GROUP.write_text(str(LOWEST))


def provide(home: Home) -> None:
    # Two lines cannot be live at once, nor one beside what tests print.
    progress = Progress(Console(file=sys.stderr, force_terminal=False, highlight=False, soft_wrap=True))
    packages.extend_path()
    with ThreadPoolExecutor(1) as pool:
        images = pool.submit(make_images, home, progress)
        binaries.ensure(home, progress)
        helm.built(home, progress)
        images.result()


def make_images(home: Home, progress: Progress) -> None:
    for make in (testimages.testbox, testimages.operator, paddlebox.built):
        make(home, progress)


if __name__ == "__main__":
    main(sys.argv[1:])
