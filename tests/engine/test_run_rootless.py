"""A run without root: user namespaces take its place."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.onemachine import PATIENCE, PROGRAM, SOURCE
from support.paddlejobs import paddle_job

NOBODY = 65534
ANYBODY = 0o001
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
ASKED = "import aiohttp, click, grpc, msgspec, paddle_operator"


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a directory that nobody owns; those of pytest are root's alone."""
    place = Path(tempfile.mkdtemp(prefix="rootless-"))
    os.chown(place, NOBODY, NOBODY)
    yield place
    shutil.rmtree(place)


def environment(home: Path) -> dict[str, str]:
    paths = os.pathsep.join((str(SOURCE), sysconfig.get_path("purelib")))
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def python(home: Path) -> str:
    """Find a Python that somebody without root may run, with our modules."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        words = [*AS_NOBODY, candidate, "-c", ASKED]
        above = Path(candidate).resolve().parents
        if not all(parent.stat().st_mode & ANYBODY for parent in above):
            continue
        if subprocess.run(words, env=environment(home), capture_output=True, cwd=home, check=False).returncode == 0:
            return candidate
    pytest.skip("NO PYTHON FOR OTHERS THAN ROOT HERE")


def test_without_root_a_job_runs_all_the_same(home: Path) -> None:
    program = python(home)
    command = ["sh", "-c", "id -u; cat /proc/1/comm; hostname"]
    worker = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "x", "command": command}]}},
    }
    file = home / "job.yaml"
    file.write_text(yaml.safe_dump(paddle_job("mine", worker=worker, cleanPodPolicy="Never")))
    words = [*AS_NOBODY, program, "-c", PROGRAM, "run", str(file), f"--state-dir={home / 'state'}"]
    done = subprocess.run(
        words, env=environment(home), cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if "does not allow namespaces of our own" in done.stderr:
        pytest.skip(f"NO USER NAMESPACES HERE: {done.stderr}")
    assert done.returncode == 0, done.stderr
    (log,) = (home / "state/logs/default/mine-worker-0").glob("*/main/0.log")
    assert log.read_text() == "0\nsh\nmine-worker-0\n"
    down = [*AS_NOBODY, program, "-c", PROGRAM, "down", f"--state-dir={home / 'state'}"]
    assert subprocess.run(down, env=environment(home), cwd=home, capture_output=True, check=False).returncode == 0
