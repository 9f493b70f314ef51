"""Warm-up and sync by a runtime server, with proof, against the bare commands of JuiceFS, in turns in one run."""

import argparse
import contextlib
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import figures
from support import juicefs
from support.enginebox import AREA, Box, Bucket, Volume, made_box
from support.runtimeprogram import COMMAND as COMMAND_OF_SERVER
from support.runtimeprogram import FINAL, RuntimeProgram

COMMAND = ".venv/bin/python bench/sampleops.py"
COLUMNS = ("operation", "runtime server", "bare `juicefs`", "rounds", "ratio", "measured")
PREFACE = f"""\
`{COMMAND} --keep` writes this file; with the name of an operation, its row alone is measured anew.

{{files:,}} files of {{size:,}} bytes; metadata in Redis. `warmup-s3`: objects behind an S3 endpoint on this machine,
JuiceFS' gateway. `warmup-again`: the same, when the server has read all blocks before, and compares them.
`warmup-share`: from there, what is the share of the first of two partitions, beside `juicefs warmup --file` with lists
of the same files, as long as it takes them. The others: objects in a directory in memory, the quickest store there is,
so that what is measured is the processors' work alone. The runtime server and the bare command took turns; the order
changed every round. Medians, and the median of the rounds' ratios.
"""
SOURCE, METADATA, LISTED = AREA / "source", AREA / "metaurl", AREA / "listed"
OPERATIONS = ("sync", "warmup", "warmup-s3", "warmup-again", "warmup-share")
PARTITIONS = 2
# Of a list of more than 128 KiB, the bare command brings nothing into the cache, and says that it did.
MOST_LISTED = 5000
PER_DIRECTORY = 1000
COPIES = 8
PAUSE = 0.01
LONGEST_SILENCE = 5.0
LONGEST = 600.0
Run = Callable[[str], float]
Store = dict[str, str]


class Stage:
    """A volume with its metadata in Redis, a source directory, and a runtime server that may read it."""

    def __init__(
        self, box: Box, redis: juicefs.Redis, files: int, size: int, store: dict[str, str] | None = None
    ) -> None:
        self.box, self.files = box, files
        self.volume = Volume(box, meta=redis.address(0), store=store, cache_mib=files * size * 4 >> 20)
        box.inside(METADATA).write_text(redis.address(0))
        options = (f"--source-dirs={SOURCE}", f"--metadata-file={METADATA}", "--log-level=info")
        self.server = RuntimeProgram(box, self.volume, *options, command=COMMAND_OF_SERVER)
        self.server.start()
        for number in range(files):
            path = box.inside(SOURCE) / f"{number // PER_DIRECTORY:03}" / f"{number:06}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(size))

    def ordered(self, name: str, files: int, **order: object) -> float:
        started = time.perf_counter()
        self.server.order(name, **order)
        while (done := self.server.operation(name))["state"] not in FINAL:
            self.await_note()
        taken = time.perf_counter() - started
        if (done["state"], done["result"]["files"]) != ("Succeeded", files):
            raise SystemExit(f"it did not succeed: {done}")
        return taken

    def await_note(self) -> None:
        """Wait until the server may have noted an end: asking it all the time would cost more than the proof does."""
        spool, until = self.box.inside(self.server.spool), time.monotonic() + LONGEST_SILENCE
        time.sleep(PAUSE)
        while time.time() - spool.stat().st_mtime > 10 * PAUSE and time.monotonic() < until:
            time.sleep(PAUSE)

    def bare(self, *argv: str) -> float:
        """Run it in a session of its own, as the server runs its commands: sessions get equal shares of processors."""
        started = time.perf_counter()
        self.box.run("setsid", "--wait", "juicefs", "--no-agent", *argv, patience=LONGEST)
        return time.perf_counter() - started

    def fill(self) -> None:
        """Have all files in the volume, the quickest way."""
        self.box.inside(self.volume.mount / "train").mkdir()
        copy = ("cp", "-r", f"{SOURCE}/NAME", f"{self.volume.mount}/train/")
        names = "\n".join(sorted(path.name for path in self.box.inside(SOURCE).iterdir()))
        self.box.inside(AREA / "names").write_text(names)
        at_once = ("xargs", f"--arg-file={AREA / 'names'}", f"--max-procs={COPIES}", "-I", "NAME")
        self.box.run(*at_once, *copy, patience=LONGEST)

    def emptied(self) -> None:
        self.volume.empty()

    def fresh(self) -> None:
        """Have a cold cache, and a server that remembers nothing of its blocks."""
        self.cold()
        name = f"forget-{secrets.token_hex(3)}"
        if (done := self.server.done(name, type="clear", forget=True))["state"] != "Succeeded":
            raise SystemExit(f"it does not forget: {done}")

    def cold(self) -> None:
        """Wait until nothing more turns up in the cache and the server has read all of it, and empty it."""
        self.server.until_studied()
        known = -1
        while known != (known := len(self.volume.blocks())):
            time.sleep(1)
        self.volume.empty_cache()

    def our_sync(self, name: str) -> float:
        return self.ordered(name, self.files, type="sync", source=f"file://{SOURCE}/", destination="train")

    def bare_sync(self, _name: str) -> float:
        return self.bare("sync", f"{SOURCE}/", f"{self.volume.mount}/train/")

    def our_warmup(self, name: str) -> float:
        return self.ordered(name, self.files, type="warmup", paths=["train"])

    def bare_warmup(self, _name: str) -> float:
        return self.bare("warmup", f"{self.volume.mount}/train")

    def our_share(self, name: str) -> float:
        share = {"partition": 0, "partitions": PARTITIONS}
        return self.ordered(name, self.files // PARTITIONS, type="warmup", paths=["train"], share=share)

    def bare_share(self, _name: str) -> float:
        return sum(self.bare("warmup", "--file", str(part)) for part in self._listed)

    def list_share(self) -> None:
        """Write down what the first partition takes, for the bare command."""
        source = self.box.inside(SOURCE)
        names = sorted(str(path.relative_to(source)) for path in source.rglob("*.jpg"))[::PARTITIONS]
        self._listed = []
        for start in range(0, len(names), MOST_LISTED):
            self._listed.append(LISTED.with_suffix(f".{start}"))
            lines = (f"{self.volume.mount}/train/{name}\n" for name in names[start : start + MOST_LISTED])
            self.box.inside(self._listed[-1]).write_text("".join(lines))


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
    if "sync" in operations or "warmup" in operations:
        with boxed() as (box, redis):
            stage = Stage(box, redis, files, size)
            if "sync" in operations:
                syncs = {"juicefs sync": stage.bare_sync, "sync": stage.our_sync}
                taken["sync"] = in_turns(rounds, stage.emptied, syncs)
            else:
                stage.fill()
            if "warmup" in operations:
                taken["warmup"] = in_turns(rounds, stage.fresh, warmups(stage, "warmup"))
    if {"warmup-s3", "warmup-again", "warmup-share"} & {*operations}:
        with boxed() as (box, redis):
            stage = Stage(box, redis, files, size, Bucket(box, "bench", "of-nobody", redis.address(1)).store)
            stage.fill()
            if "warmup-s3" in operations:
                taken["warmup-s3"] = in_turns(rounds, stage.fresh, warmups(stage, "warmup-s3"))
            if "warmup-again" in operations:
                stage.our_warmup("first")
                taken["warmup-again"] = in_turns(rounds, stage.cold, warmups(stage, "warmup-again"))
            if "warmup-share" in operations:
                stage.list_share()
                shares = {"juicefs warmup-share": stage.bare_share, "warmup-share": stage.our_share}
                taken["warmup-share"] = in_turns(rounds, stage.fresh, shares)
    return taken


@contextlib.contextmanager
def boxed() -> Iterator[tuple[Box, juicefs.Redis]]:
    with tempfile.TemporaryDirectory() as scratch, juicefs.redis(Path(scratch) / "redis", "hush") as redis:
        directory = Path(scratch) / "box"
        directory.mkdir()
        with made_box(directory) as box:
            yield box, redis


def warmups(stage: Stage, name: str) -> dict[str, Run]:
    return {f"juicefs {name}": stage.bare_warmup, name: stage.our_warmup}


def ratio(ours: Sequence[float], bare: Sequence[float]) -> float:
    """Give how many times as long ours takes, in the median of the rounds: two turns of a round are alike."""
    return statistics.median(one / other for one, other in zip(ours, bare, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", default=OPERATIONS, choices=OPERATIONS, help="all unless named")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    arguments = parser.parse_args()
    taken = measured(arguments.operations, arguments.rounds, arguments.files, arguments.size)
    found = findings_of({operation: {"measured": today(), "seconds": each} for operation, each in taken.items()})
    found.show()
    if arguments.keep:
        found.keep("sampleops", "What the proof of a warm-up, and the watch over a sync, take", preface(arguments))


def today() -> str:
    facts = figures.machine()
    return "{date}, `{commit}`, {stolen} % taken by others".format(**facts)


def findings_of(now: dict[str, Any]) -> figures.Findings:
    """Give a row for each operation, also for those that were measured before and not this time."""
    results = figures.RESULTS / "sampleops.json"
    known = {**(json.loads(results.read_text())["figures"] if results.exists() else {}), **now}
    return figures.Findings(COLUMNS, [row_of(name, **each) for name, each in known.items()], known)


def row_of(operation: str, measured: str, seconds: dict[str, list[float]]) -> tuple[str, ...]:
    ours, bare = seconds[operation], seconds[f"juicefs {operation}"]
    medians = (f"{statistics.median(times):.2f} s" for times in (ours, bare))
    return (operation, *medians, str(len(ours)), f"{ratio(ours, bare):.3f}", measured)


def preface(arguments: argparse.Namespace) -> str:
    return PREFACE.format(files=arguments.files, size=arguments.size)


if __name__ == "__main__":
    main()
