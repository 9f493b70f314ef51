"""Measures how long a status takes for a data set of millions of files, on a real JuiceFS."""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from figures import Facts, Findings
from localkube.progress import Progress
from localkube.waiting import wait_until
from paddle_operator.engines.juicefs import flags
from paddle_operator.engines.juicefs.fetching import Place
from paddle_operator.engines.juicefs.runtime import JuiceFS
from paddle_operator.engines.juicefs.volume import read_volume

PROGRAM = Path(__file__).parents[1] / "dist/juicefs/juicefs"
COMMAND = ".venv/bin/python bench/manyfiles.py"
ALONE = "BENCH_HAS_MOUNTS_OF_ITS_OWN"
FILES_OF_A_DIRECTORY = 10_000
AT_ONCE = 10_000
BLOCK = 4096
LOOKS = 20
PATIENCE = 120.0
# What the original gave `du` to count.
LONGEST_COUNT = 30.0
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

A JuiceFS volume with {{files:,}} files in directories of {FILES_OF_A_DIRECTORY:,}. One file of each was written through
the mount, and its metadata copied in Redis for the others. A look is all that a runtime server does for a report; the
median of {LOOKS}. The original operator counted with `du`, and had no status when that took longer than
{LONGEST_COUNT:.0f} s.
"""


class Redis:
    """A Redis of this program's own, and its protocol as far as it is needed."""

    def __init__(self, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        argv = ["redis-server", "--port", str(self.port), "--save", "", "--dir", str(directory)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, PATIENCE, "there is no Redis")
        self._socket = socket.create_connection(("127.0.0.1", self.port))
        self._answers = self._socket.makefile("rb")

    def get(self, key: bytes) -> bytes:
        self._socket.sendall(encoded((b"GET", key)))
        length = int(self._answers.readline()[1:])
        return self._answers.read(length + 2)[:-2]

    def send(self, commands: Iterable[tuple[bytes, ...]]) -> None:
        """Send many, each with an answer of one line."""
        left = iter(commands)
        while some := list(islice(left, AT_ONCE)):
            self._socket.sendall(b"".join(map(encoded, some)))
            if wrong := [line for line in (self._answers.readline() for _ in some) if line.startswith(b"-")]:
                raise SystemExit(wrong[0].decode())


def encoded(words: tuple[bytes, ...]) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


@contextlib.contextmanager
def mounted(place: Path, redis: Redis) -> Iterator[JuiceFS]:
    """Format and mount a volume, as the operator does."""
    program = place / "juicefs"
    shutil.copyfile(PROGRAM, program)
    program.chmod(0o755)
    os.environ["PATH"] = f"{place}:{os.environ['PATH']}"
    version = flags.parse_version(subprocess.run(flags.VERSION, capture_output=True, text=True, check=True).stdout)
    secret = {"name": "many", "storage": "file", "bucket": f"{place}/objects/"}
    volume = read_volume({**secret, "metaurl": f"redis://127.0.0.1:{redis.port}/0"})
    subprocess.run(flags.format_volume(version, volume).argv, capture_output=True, check=True)
    mount, cache = place / "mount", place / "cache"
    mount.mkdir()
    cache.mkdir()
    options = {"cache-dir": str(cache), "metrics": "127.0.0.1:0"}
    argv = flags.mount_volume(version, volume, options, str(mount)).argv
    client = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until((mount / ".stats").exists, PATIENCE, "the volume is not mounted")
        yield JuiceFS(Place(mount, (cache,), place / "scratch", place / "ledger"), version)
    finally:
        client.kill()
        client.wait()
        subprocess.run(["umount", "--lazy", str(mount)], check=True)


def fill(redis: Redis, mount: Path, files: int) -> None:
    """Write a file in each directory, and let the others have its metadata."""
    number = 1 << 32  # far from those that JuiceFS gives
    for directory in range(files // FILES_OF_A_DIRECTORY):
        template = mount / f"n{directory:05}" / "0000.jpg"
        template.parent.mkdir()
        template.write_bytes(b"x" * BLOCK)
        redis.send(copies(redis, template, number))
        number += FILES_OF_A_DIRECTORY
    copied = files - files // FILES_OF_A_DIRECTORY
    redis.send([(b"INCRBY", b"totalInodes", b"%d" % copied), (b"INCRBY", b"usedSpace", b"%d" % (copied * BLOCK))])


def copies(redis: Redis, template: Path, number: int) -> Iterator[tuple[bytes, ...]]:
    attributes = redis.get(b"i%d" % template.stat().st_ino)
    directory = b"d%d" % template.parent.stat().st_ino
    for offset in range(1, FILES_OF_A_DIRECTORY):
        inode = number + offset
        yield b"SET", b"i%d" % inode, attributes
        # A file is of type 1.
        yield b"HSET", directory, b"%04d.jpg" % offset, b"\x01" + inode.to_bytes(8, "big")


def measure(files: int, progress: Progress) -> Facts:
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        redis = Redis(Path(scratch))
        try:
            with mounted(Path(scratch), redis) as engine:
                with progress.step(f"{files:,} files"):
                    fill(redis, engine.place.mount, files)
                if (engine.place.mount / "n00000/0001.jpg").stat().st_size != BLOCK:
                    raise SystemExit("a file that was made is not there")
                with progress.step("until JuiceFS has counted them"):
                    wait_until(lambda: engine.observe().data.files >= files, PATIENCE, "they are not counted")
                return figures(engine, progress)
        finally:
            redis.process.kill()
            redis.process.wait()


def figures(engine: JuiceFS, progress: Progress) -> Facts:
    took = []
    for _ in range(LOOKS):
        begun = time.monotonic()
        report = engine.observe()
        took.append(time.monotonic() - begun)
    with progress.step("du"):
        begun = time.monotonic()
        try:
            subprocess.run(
                ["du", "-s", str(engine.place.mount)], capture_output=True, timeout=LONGEST_COUNT, check=True
            )
            counted = f"{time.monotonic() - begun:.1f} s"
        except subprocess.TimeoutExpired:
            counted = f"not done after {LONGEST_COUNT:.0f} s"
    return {
        "files in the report": f"{report.data.files:,}",
        "bytes in the report": f"{report.data.bytes:,}",
        "a look": f"{statistics.median(took) * 1000:.1f} ms ({min(took) * 1000:.1f} to {max(took) * 1000:.1f})",
        "`du` over the mount": counted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 3 minutes.")
    parser.add_argument("--files", type=int, default=2_000_000, help="how many files there are (2,000,000)")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    if not os.environ.get(ALONE):
        # Mounts of its own, which go with the process, however it ends.
        alone = ["unshare", "--mount", "--propagation=private", "--kill-child", "--fork", sys.executable, *sys.argv]
        os.execvpe(alone[0], alone, {**os.environ, ALONE: "1"})  # noqa: S606 no shell is what is wanted
    found = Findings.of(measure(asked.files, Progress()))
    found.show()
    if asked.keep:
        found.keep("manyfiles", "What the status of millions of files takes", PREFACE.format(files=asked.files))


if __name__ == "__main__":
    main()
