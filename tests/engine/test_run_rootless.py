"""A run without root: user namespaces take its place."""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.statedir import StateDirectory
from support import juicefs
from support.onemachine import PATIENCE, PROGRAM, SOURCE, OneMachine, sample_set
from support.paddlejobs import paddle_job

NOBODY = 65534
ANYBODY = 0o001
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
FUSE = (10, 229)
BOUND = 'mount --bind "$0" /dev/fuse && exec "$@"'
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


@dataclass(frozen=True)
class Nobody:
    """Somebody who is not root, at home in a directory; the device of FUSE is there as on most machines, for all."""

    home: Path
    python: str

    def call(self, *words: str, fuse: int = 0o666) -> "subprocess.CompletedProcess[str]":
        device = self.home / "fuse"
        device.unlink(missing_ok=True)
        os.mknod(device, stat.S_IFCHR, os.makedev(*FUSE))
        device.chmod(fuse)
        inside = ("unshare", "--mount", "--propagation=private", "sh", "-c", BOUND, str(device))
        argv = [*inside, *AS_NOBODY, self.python, "-c", PROGRAM, *words, f"--state-dir={self.home / 'state'}"]
        return subprocess.run(
            argv,
            env=environment(self.home),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def run(self, *manifests: Manifest, fuse: int = 0o666) -> "subprocess.CompletedProcess[str]":
        """Run them to their end, or skip the test where that cannot be."""
        juicefs.require()
        program, file = self.home / "juicefs", self.home / "manifests.yaml"
        shutil.copyfile(juicefs.PROGRAM, program)
        program.chmod(0o755)
        file.write_text(yaml.safe_dump_all(manifests))
        done = self.call("run", str(file), f"--juicefs={program}", fuse=fuse)
        if "does not allow namespaces of our own" in done.stderr:
            pytest.skip(f"NO USER NAMESPACES HERE: {done.stderr}")
        return done

    def log(self, pod: str) -> str:
        (found,) = (self.home / "state/logs/default" / pod).glob("*/main/0.log")
        return found.read_text()


@pytest.fixture
def nobody(home: Path) -> Nobody:
    return Nobody(home, python(home))


def job(*command: str, **spec: object) -> Manifest:
    container = {"name": "main", "image": "x", "command": list(command)}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return paddle_job("mine", worker=worker, cleanPodPolicy="Never", **spec)


def test_without_root_a_job_runs_all_the_same(nobody: Nobody) -> None:
    done = nobody.run(job("sh", "-c", "id -u; cat /proc/1/comm; hostname"))
    assert done.returncode == 0, done.stderr
    assert nobody.log("mine-worker-0") == "0\nsh\nmine-worker-0\n"
    assert nobody.call("down").returncode == 0


def test_without_root_data_is_copied_mounted_cached_and_read_and_goes(nobody: Nobody) -> None:
    source = nobody.home / "source"
    source.mkdir()
    for number in range(3):
        (source / str(number)).write_text(f"{number}\n")
    reads = job("sh", "-c", "cat /data/*", sampleSetRef={"name": "numbers", "mountPath": "/data"})
    done = nobody.run(sample_set(source), reads)
    assert done.returncode == 0, done.stderr
    assert nobody.log("mine-worker-0") == "0\n1\n2\n"
    machine = OneMachine(nobody.home)
    assert (machine.processes(), machine.mounts()) == ([], [])
    caches = StateDirectory(machine.state).memory
    assert caches.exists()
    assert nobody.call("down").returncode == 0
    assert not machine.state.exists()
    assert not caches.exists()


def test_without_leave_to_open_the_device_of_fuse_data_is_refused_in_words(nobody: Nobody) -> None:
    done = nobody.run(sample_set(nobody.home), fuse=0o600)
    assert done.returncode == 1
    assert "/dev/fuse may not be opened: allow it (chmod 666 /dev/fuse), or run as root" in done.stderr
