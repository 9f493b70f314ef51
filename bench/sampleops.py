"""Warm-up and sync by a runtime server, with proof, against the bare commands of JuiceFS, in turns in one run."""

import argparse
import json
import os
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
PAUSE = 0.005
LONGEST_SILENCE = 5.0
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
            self.await_note()
        taken = time.perf_counter() - started
        if (done["state"], done["result"]["files"]) != ("Succeeded", self.files):
            raise SystemExit(f"it did not succeed: {done}")
        return taken

    def await_note(self) -> None:
        """Wait until the server may have noted an end: asking it all the time would cost more than the proof does."""
        spool, until = self.box.inside(self.server.spool), time.monotonic() + LONGEST_SILENCE
        time.sleep(PAUSE)
        while time.time() - spool.stat().st_mtime > 10 * PAUSE and time.monotonic() < until:
            time.sleep(PAUSE)

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


def ratio(ours: Sequence[float], bare: Sequence[float]) -> float:
    """Give how many times as long ours takes, in the median of the rounds: two turns of a round are alike."""
    return statistics.median(one / other for one, other in zip(ours, bare, strict=True))


def report(taken: dict[str, dict[str, list[float]]]) -> None:
    for operation, seconds in taken.items():
        ours, bare = seconds[operation], seconds[f"juicefs {operation}"]
        medians = f"{statistics.median(ours):.2f} s; juicefs {operation}: {statistics.median(bare):.2f} s"
        print(f"{operation}: {medians}; {ratio(ours, bare):.3f} times as long, round by round")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", default=OPERATIONS, help="sync, warmup, or both")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    arguments = parser.parse_args()
    taken = measured(arguments.operations, arguments.rounds, arguments.files, arguments.size)
    report(taken)
    if arguments.keep:
        keep(arguments, taken)


def keep(arguments: argparse.Namespace, taken: dict[str, dict[str, list[float]]]) -> None:
    """Write the results, beside those of an operation that was not measured this time."""
    known = json.loads(RESULTS.read_text())["seconds"] if RESULTS.exists() else {}
    seconds = {**known, **taken}
    RESULTS.write_text(
        json.dumps({"files": arguments.files, "size": arguments.size, "seconds": seconds}, indent=2) + "\n"
    )
    lines = [
        "# What the proof of a warm-up, and the watch over a sync, take",
        "",
        f"{arguments.files:,} files of {arguments.size:,} bytes, on {os.cpu_count()} cores; metadata in Redis, objects",
        "in a directory in memory, which is the quickest store there is.",
        "The runtime server and the bare command took turns; the order changed every round. Medians, and the median of",
        "the rounds' ratios. `.venv/bin/python bench/sampleops.py --keep` writes this file.",
        "",
        "| operation | runtime server | `juicefs` | rounds | ratio |",
        "|---|---|---|---|---|",
    ]
    for operation, found in seconds.items():
        ours, bare = found[operation], found[f"juicefs {operation}"]
        medians = f"{statistics.median(ours):.2f} s | {statistics.median(bare):.2f} s"
        lines.append(f"| {operation} | {medians} | {len(ours)} | {ratio(ours, bare):.3f} |")
    RESULTS.with_suffix(".md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
