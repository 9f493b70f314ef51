"""A place of its own for a real JuiceFS: a mount namespace with a file system in memory, which goes with it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from localkube.waiting import wait_until
from paddle_operator.engines.juicefs import counters, flags
from paddle_operator.engines.juicefs.blocks import NAME
from paddle_operator.engines.juicefs.volume import read_volume
from support import juicefs

AREA = Path("/mnt")
PATIENCE = 90
DROPS = "juicefs_blockcache_drops"
OWN = {".accesslog", ".control", ".stats", ".config", ".trash"}


class Box:
    """Programs run inside of it see its mounts; the test sees them below `inside`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._programs: list[subprocess.Popen[bytes]] = []
        self._holder = subprocess.Popen(["unshare", "--mount", "--propagation=private", "sleep", "infinity"])

    def furnish(self) -> None:
        """Have a namespace with a file system in memory, and the program on its PATH: a wheel's are not executable."""
        ours, its = (Path(f"/proc/{process}/ns/mnt") for process in ("self", self._holder.pid))
        wait_until(lambda: its.readlink() != ours.readlink(), PATIENCE, "the box has no namespace of its own")
        self.run("mount", "-t", "tmpfs", "box", str(AREA))
        binaries = self.inside(AREA / "bin")
        binaries.mkdir()
        shutil.copyfile(juicefs.PROGRAM, binaries / "juicefs")
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

    def run(self, *argv: str, environment: Mapping[str, str] | None = None, patience: float = PATIENCE * 4) -> str:
        done = subprocess.run(
            self._entered(argv),
            env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience,
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
        """End everything inside, also what its programs left behind; the mounts go with the last that sees them."""
        for program in reversed(self._programs):
            program.kill()
            program.wait()
        for process in self._inhabitants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._holder.wait()

    def signal(self, word: str, number: signal.Signals) -> None:
        """Send a signal to every program inside that has this word on its command line."""
        for process in self._inhabitants():
            # JuiceFS 1.x writes its own title there, with spaces between.
            if word.encode() in Path(f"/proc/{process}/cmdline").read_bytes().replace(b" ", b"\0").split(b"\0"):
                os.kill(process, number)

    def _inhabitants(self) -> list[int]:
        """Find who is in the box, by its namespace alone; those that have none any more are gone."""
        ours, its = (Path(f"/proc/{process}/ns/mnt").readlink() for process in ("self", self._holder.pid))
        found = [self._holder.pid]
        for path in Path("/proc").glob("[0-9]*/ns/mnt"):
            with contextlib.suppress(OSError):
                if path.readlink() == its != ours:
                    found.append(int(path.parts[2]))
        return found


@contextlib.contextmanager
def made_box(directory: Path) -> Iterator[Box]:
    """Make a box for as long as it is needed, or skip the test and say why."""
    juicefs.require()
    made = Box(directory)
    try:
        made.furnish()
        yield made
    finally:
        made.close()


class Volume:
    """A JuiceFS volume in a box, mounted, with its bucket and its cache as directories."""

    def __init__(
        self,
        box: Box,
        name: str = "demo",
        meta: str = "",
        store: Mapping[str, str] | None = None,
        cache_mib: int | None = None,
    ) -> None:
        self.box, self.name = box, name
        self.version = flags.parse_version(box.run(*flags.VERSION))
        self.place = AREA / name
        self.mount, self.bucket, self.cache = (self.place / part for part in ("mount", "bucket", "cache"))
        for path in (self.mount, self.bucket, self.cache):
            box.inside(path).mkdir(parents=True)
        self._options = {"cache-dir": str(self.cache), "metrics": "127.0.0.1:0"}
        if cache_mib is not None:
            self._options["cache-size"] = str(cache_mib)
        meta = meta or f"sqlite3://{self.place}/meta.db"
        kept = store or {"storage": "file", "bucket": f"{self.bucket}/"}
        self._described = read_volume({"name": name, "metaurl": meta, **kept})
        made = flags.format_volume(self.version, self._described)
        box.run(*made.argv, environment=made.secrets)
        self.begin()

    def begin(self) -> None:
        """Mount it; its client runs until the box is closed."""
        made = flags.mount_volume(self.version, self._described, self._options, str(self.mount))
        self.box.start(f"{self.name}-mount", *made.argv, environment=made.secrets)
        wait_until((self.inside / ".stats").exists, PATIENCE, f"{self.name} is not mounted")
        self._drops_before = 0

    @property
    def inside(self) -> Path:
        return self.box.inside(self.mount)

    def write(self, name: str, content: bytes) -> None:
        path = self.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def blocks(self) -> list[Path]:
        """Give the files of the cache that are blocks."""
        return [path for path in self.box.inside(self.cache).glob("*/raw/chunks/*/*/*") if NAME.fullmatch(path.name)]

    def objects(self) -> list[Path]:
        return [path for path in self.box.inside(self.bucket).glob("*/chunks/*/*/*") if path.is_file()]

    def await_cached(self, size: int, count: int = 1) -> None:
        """Wait for as many blocks of that size: what was written turns up in the cache a while later.

        Of more than 15 that it could not write yet the client drops some: these never turn up.
        """

        def is_cached() -> bool:
            cached = sum(path.name.endswith(f"_{size}") for path in self.blocks())
            return cached + self._drops() - self._drops_before >= count

        wait_until(is_cached, PATIENCE, "what was written is not cached", pause=0.02)

    def _drops(self) -> int:
        return counters.read(self.inside).get(DROPS, 0)

    def empty_cache(self) -> None:
        for block in self.blocks():
            block.unlink(missing_ok=True)

    def empty(self) -> None:
        """Have nothing in it any more, and nothing cached."""
        self._drops_before = self._drops()
        for path in self.inside.iterdir():
            if path.is_dir() and not path.is_symlink() and path.name != ".trash":
                shutil.rmtree(path)
            elif path.name not in OWN:
                path.unlink()
        for cache in self.box.inside(self.cache).iterdir():
            for tree in cache.glob("*/chunks"):
                shutil.rmtree(tree, ignore_errors=True)


class Bucket:
    """An S3 endpoint in a box: JuiceFS' own gateway, over a volume that nobody mounts."""

    def __init__(self, box: Box, access_key: str, secret_key: str, meta: str = "", host: str = "127.0.0.1") -> None:
        self.box = box
        self.place = f"{host}:{free_port(host)}"
        self.keys = {"MINIO_ACCESS_KEY": access_key, "MINIO_SECRET_KEY": secret_key, "MINIO_REGION": "us-east-1"}
        place = AREA / "store"
        box.inside(place).mkdir()
        meta = meta or f"sqlite3://{place}/meta.db"
        box.run("juicefs", "format", "--storage=file", f"--bucket={place}/", meta, "store")
        root = {"MINIO_ROOT_USER": access_key, "MINIO_ROOT_PASSWORD": secret_key}
        argv = ("juicefs", "gateway", "--no-usage-report", "--cache-size=0", meta, self.place)
        box.start("gateway", *argv, environment=root)
        wait_until(self._answers, PATIENCE, f"there is no gateway: {box.log('gateway')}")

    def _answers(self) -> bool:
        try:
            host, _, port = self.place.partition(":")
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True

    @property
    def uri(self) -> str:
        return f"minio://{self.place}/store"

    def part(self, prefix: str) -> str:
        """Give the address of what begins so."""
        return f"s3://store.{self.place}/{prefix}"

    @property
    def store(self) -> dict[str, str]:
        """Describe it as a place where a volume may keep its objects."""
        keys = {"access-key": self.keys["MINIO_ACCESS_KEY"], "secret-key": self.keys["MINIO_SECRET_KEY"]}
        return {"storage": "minio", "bucket": f"http://{self.place}/store", **keys}

    def fill(self, files: Mapping[str, bytes]) -> None:
        source = self.box.inside(AREA / "filling")
        for name, content in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
        argv = ("juicefs", "--no-agent", "sync", "--no-https", f"{AREA}/filling/", f"{self.uri}/")
        self.box.run(*argv, environment=self.keys)


def free_port(host: str = "127.0.0.1") -> int:
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])
