"""The image with PaddlePaddle, from cluster/paddlebox: its wheels fetched once, then built."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from localkube import lock
from localkube.images import build
from localkube.paths import Home
from localkube.progress import Progress
from support.workloads import BASE

IMAGE = "localhost/paddlebox:1"
SOURCE = Path(__file__).parents[1] / "cluster/paddlebox"
LOCK = SOURCE / "requirements.lock"
PYTHON = "3.11"  # the python3 of the Debian that the image is built on


def built(home: Home, progress: Progress) -> Path:
    """Return the image's archive."""
    cache = home.cache / "paddlebox"
    wheels = fetched(cache, progress)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        context = Path(scratch)
        shutil.copytree(wheels, context / "wheels", copy_function=os.link)
        for file in (SOURCE / "Dockerfile", LOCK):
            shutil.copyfile(file, context / file.name)
            os.utime(context / file.name, (0, 0))  # a builder takes a newer file for another one
        return build.build(home, build.Recipe(IMAGE, context, base_packages=BASE), progress)


def fetched(cache: Path, progress: Progress) -> Path:
    """Return the directory of everything in the lock, fetched only when there is none for this lock."""
    key = hashlib.sha256(LOCK.read_bytes() + PYTHON.encode()).hexdigest()[:12]
    wheels = cache / f"wheels-{key}"
    with lock.exclusive(cache / ".lock", "somebody else fetches PaddlePaddle: waiting", progress.say):
        for other in set(cache.glob("wheels-*")) - {wheels}:
            shutil.rmtree(other)
        if not wheels.exists():
            with progress.step("wheels of PaddlePaddle"):
                _fetch(wheels)
    return wheels


def _fetch(wheels: Path) -> None:
    """Give the directory its name last: one that exists is whole."""
    unfinished = wheels.with_name("unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    what = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
    # etcd3 is published as source alone.
    how = ["--only-binary", ":all:", "--no-binary", "etcd3", "--python-version", PYTHON]
    subprocess.run([*pip, "download", *what, *how, "--dest", str(unfinished)], check=True)
    unfinished.rename(wheels)
