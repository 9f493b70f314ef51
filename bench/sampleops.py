"""Warm-up and sync by a runtime server, with proof, against the bare commands of JuiceFS, in turns in one run."""

import argparse
import json
import os
import platform
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import juicefs
from support.enginebox import AREA, Box, Volume, made_box
from support.runtimeprogram import FINAL, RuntimeProgram

RESULTS = Path(__file__).parent / "results/sampleops.json"
SOURCE, METADATA = AREA / "source", AREA / "metaurl"
OPERATIONS = ("sync", "warmup")
PER_DIRECTORY = 1000
PAUSE = 0.02
LONGEST = 600.0
Run = Callable[[str], float]


class Stage:
    """A volume with its metadata in Redis, a source directory, and a runtime server that may read it."""

    def __init__(self, box: Box, redis: juicefs.Redis, files: int, size: int) -> None:
        self.box, self.files = box, files
        room = files * size * 4 >> 20
        self.volume = Volume(box, meta=redis.address(0), **{"cache-size": str(room)})
        box.inside(METADATA).write_text(redis.address(0))
        options = (f"--source-dirs={SOURCE}", f"--metadata-file={METADATA}", "--log-level=info")
        self.server = RuntimeProgram(box, self.volume, *options)
        self.server.start()
        for number in range(files):
            path = box.inside(SOURCE) / f"{number // PER_DIRECTORY:03}" / f"{number:06}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(size))

    def ordered(self, name: str, **order: object) -> float:
        started = time.perf_counter()
        self.server.order(name, **order)
        while (done := self.server.operation(name))["state"] not in FINAL:
            time.sleep(PAUSE)
        taken = time.perf_counter() - started
        if (done["state"], done["result"]["files"]) != ("Succeeded", self.files):
            raise SystemExit(f"it did not succeed: {done}")
        return taken

    def bare(self, *argv: str) -> float:
        started = time.perf_counter()
        self.box.run("juicefs", "--no-agent", *argv, patience=LONGEST)
        return time.perf_counter() - started

    def emptied(self) -> None:
        self.volume.empty()

    def cold(self) -> None:
        """Wait until nothing more turns up in the cache, and empty it."""
        known = -1
        while known != (known := len(self.volume.blocks())):
            time.sleep(1)
        self.volume.empty_cache()

    def our_sync(self, name: str) -> float:
        return self.ordered(name, type="sync", source=f"file://{SOURCE}/", destination="train")

    def bare_sync(self, _name: str) -> float:
        return self.bare("sync", f"{SOURCE}/", f"{self.volume.mount}/train/")

    def our_warmup(self, name: str) -> float:
        return self.ordered(name, type="warmup", paths=["train"])

    def bare_warmup(self, _name: str) -> float:
        return self.bare("warmup", f"{self.volume.mount}/train")


def in_turns(rounds: int, before: Callable[[], None], contestants: dict[str, Run]) -> dict[str, list[float]]:
    """Let each have its turn in every round, the other way round every other time."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        names = list(contestants) if number % 2 == 0 else list(reversed(contestants))
        for name in names:
            before()
            seconds[name].append(contestants[name](f"{name}-{number}-{secrets.token_hex(3)}".lower()))
            print(f"{name}: {seconds[name][-1]:.2f} s", flush=True)
    return seconds


def measured(operations: Sequence[str], rounds: int, files: int, size: int) -> dict[str, dict[str, list[float]]]:
    taken = {}
    with tempfile.TemporaryDirectory() as scratch, juicefs.redis(Path(scratch) / "redis", "hush") as redis:
        box_directory = Path(scratch) / "box"
        box_directory.mkdir()
        with made_box(box_directory) as box:
            stage = Stage(box, redis, files, size)
            if "sync" in operations:
                syncs = {"juicefs sync": stage.bare_sync, "sync": stage.our_sync}
                taken["sync"] = in_turns(rounds, stage.emptied, syncs)
            else:
                stage.bare_sync("")
            if "warmup" in operations:
                warmups = {"juicefs warmup": stage.bare_warmup, "warmup": stage.our_warmup}
                taken["warmup"] = in_turns(rounds, stage.cold, warmups)
    return taken


def report(taken: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """Give how many times as long ours takes, by the medians."""
    ratios = {}
    for operation, seconds in taken.items():
        ours, bare = statistics.median(seconds[operation]), statistics.median(seconds[f"juicefs {operation}"])
        ratios[operation] = ours / bare
        print(f"{operation}: {ours:.2f} s; juicefs {operation}: {bare:.2f} s; {ours / bare:.2f} times as long")
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", default=OPERATIONS, help="sync, warmup, or both")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    arguments = parser.parse_args()
    taken = measured(arguments.operations, arguments.rounds, arguments.files, arguments.size)
    ratios = report(taken)
    if arguments.keep:
        machine = {"cores": os.cpu_count(), "kernel": platform.release()}
        what = {"files": arguments.files, "size": arguments.size, "machine": machine}
        RESULTS.write_text(json.dumps({**what, "seconds": taken, "ratios": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
