"""JuiceFS itself, and a Redis for its metadata, for tests that mount for real."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from localkube.waiting import wait_until

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "dist/juicefs/juicefs"


def missing() -> str:
    """Say what this machine lacks for a real mount; nothing, if it lacks nothing."""
    if os.geteuid() != 0:
        return "only root may mount"
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    if lacking := [name for name in ("redis-server", "unshare", "nsenter") if shutil.which(name) is None]:
        return f"there is no {' and no '.join(lacking)}"
    fetched = subprocess.run([ROOT / "tools/juicefs", PROGRAM], capture_output=True, text=True, check=False)
    return "" if fetched.returncode == 0 else f"juicefs cannot be had: {fetched.stderr.strip()}"


def require() -> None:
    """Skip the test where it cannot be, and say why; where a cluster is required, so is this."""
    if reason := missing():
        (pytest.fail if os.environ.get("LOCALKUBE_REQUIRED") else pytest.skip)(f"NO REAL MOUNTS HERE: {reason}")


@dataclass
class Redis:
    """A Redis with a password, which ends with the test."""

    directory: Path
    port: int
    password: str
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        words = ["--port", str(self.port), "--dir", str(self.directory), "--save", "60 1", "--dbfilename", "dump.rdb"]
        config = self.directory / "redis.conf"
        config.write_text(f"requirepass {self.password}\ndatabases 256\n")
        self.process = subprocess.Popen(["redis-server", config, *words], stdout=subprocess.DEVNULL)
        wait_until(self._answers, 90, "Redis does not answer", 0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)

    def ask(self, *words: str) -> str:
        argv = ["redis-cli", "-p", str(self.port), *words]
        environment = {**os.environ, "REDISCLI_AUTH": self.password}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=10).stdout

    def address(self, database: int, password: str | None = None) -> str:
        return f"redis://:{self.password if password is None else password}@127.0.0.1:{self.port}/{database}"

    def _answers(self) -> bool:
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def redis(directory: Path, password: str) -> Iterator[Redis]:
    directory.mkdir(parents=True, exist_ok=True)
    served = Redis(directory, free_port(), password)
    served.start()
    try:
        yield served
    finally:
        served.stop()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
