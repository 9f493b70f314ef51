"""Has all that tests on clusters are made of, before they begin: Kubernetes, and meanwhile the images."""

import sys
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console

from localkube import binaries, errors, packages, preflight
from localkube.paths import Home
from localkube.progress import Progress
from support import helm, paddlebox, testimages


def main() -> None:
    home = Home.from_environment()
    if problems := preflight.problems(home):
        print(f"NO KUBERNETES HERE: {' '.join(problems)}", file=sys.stderr)  # noqa: T201 for the person who waits
        return
    try:
        provide(home)
    except errors.LocalkubeError as error:
        sys.exit(f"error: {error}")


def provide(home: Home) -> None:
    progress = Progress()
    packages.ensure(progress)
    with ThreadPoolExecutor(1) as pool:
        # Two lines cannot be live at once.
        plain = Progress(Console(file=sys.stderr, force_terminal=False, highlight=False, soft_wrap=True))
        images = pool.submit(make_images, home, plain)
        binaries.ensure(home, progress)
        helm.built(home, progress)
        images.result()


def make_images(home: Home, progress: Progress) -> None:
    for make in (testimages.testbox, testimages.operator, paddlebox.built):
        make(home, progress)


if __name__ == "__main__":
    main()
