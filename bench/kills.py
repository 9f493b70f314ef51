"""Kills a run at random moments, many times, and looks for what is left, every second time after `down`."""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from paddle_operator.embedded.statedir import StateDirectory

ROOT = Path(__file__).parents[1]
PROGRAM = "from paddle_operator.cli.main import main; main()"
FILES = 40
LONGEST = 12.0
GONE_WITHIN = 5.0


def manifests(place: Path) -> str:
    """Give a data set, and a job that reads all of it and never ends by itself."""
    return f"""
apiVersion: batch.paddlepaddle.org/v1alpha1
kind: SampleSet
metadata: {{name: numbers}}
spec: {{partitions: 1, source: {{uri: "file://{place}/source"}}, secretRef: {{name: numbers}}}}
---
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {{name: reads}}
spec:
  sampleSetRef: {{name: numbers, mountPath: /data}}
  worker:
    replicas: 2
    template:
      spec:
        containers:
        - name: main
          image: x
          command: [sh, -c, "cat /data/* | sha256sum > {place}/read; [ -e {place}/last ] || sleep 1000"]
"""


def command(place: Path, *words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *words, f"--state-dir={place}/state"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def begin(place: Path, juicefs: str) -> "subprocess.Popen[bytes]":
    words = command(place, "run", str(place / "manifests.yaml"), f"--juicefs={juicefs}")
    with (place / "said").open("wb") as said:
        return subprocess.Popen(words, env=environment(), stdout=said, stderr=said)


def left(place: Path) -> list[str]:
    """Name the processes and mounts of this machine that have to do with the place."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "mountinfo"):
            try:
                text = (entry / name).read_text(errors="replace")
            except OSError:
                continue
            if str(place) in text and int(entry.name) != os.getpid():
                found.append(f"{entry.name} {name}")
    return found


def kept(place: Path) -> list[str]:
    """Name what `down` should have removed, or somebody still holds."""
    state = StateDirectory(place / "state")
    found = [str(path) for path in (state.root, state.memory) if path.exists()]
    return [*left(place), *found, *(["the lock"] if state.holder is not None else [])]


def gone(place: Path) -> float:
    """Wait until nothing runs, is mounted or locked, and give how long it took; -1 if something stays."""
    began = time.monotonic()
    while time.monotonic() - began < GONE_WITHIN:
        if not left(place) and StateDirectory(place / "state").holder is None:
            return time.monotonic() - began
        time.sleep(0.02)
    return -1.0


def down(place: Path) -> int:
    return subprocess.run(command(place, "down"), env=environment(), check=False, capture_output=True).returncode


def prepared(place: Path) -> str:
    """Write the source, and give what a reader of all of it would compute."""
    source = place / "source"
    source.mkdir()
    whole = hashlib.sha256()
    for number in range(FILES):
        content = random.Random(number).randbytes(50_000)  # noqa: S311 no secret
        (source / f"{number:04}").write_bytes(content)
        whole.update(content)
    (place / "manifests.yaml").write_text(manifests(place))
    return whole.hexdigest()


@dataclass
class Tally:
    """What the rounds have shown so far."""

    left_by_kills: int = 0
    left_by_down: int = 0
    downs: int = 0
    slowest: float = 0.0
    wrong_reads: int = 0

    def killed(self, place: Path) -> str:
        took = gone(place)
        self.left_by_kills += took < 0
        self.slowest = max(self.slowest, took)
        return f"gone after {took:.2f} s"

    def removed(self, place: Path) -> str:
        """Have `down` remove everything at once, and look at once: it does not say that it is done before it is."""
        self.downs += 1
        code, found = down(place), kept(place)
        self.left_by_down += bool(code or found)
        return f"down ended with {code}, left: {', '.join(found) or 'nothing'}"

    def read(self, place: Path, wanted: str) -> None:
        read = place / "read"
        if read.exists() and read.read_text() and not read.read_text().startswith(wanted):
            self.wrong_reads += 1
        read.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=LONGEST)
    parser.add_argument("--juicefs", default=str(ROOT / "dist/juicefs/juicefs"))
    parser.add_argument("--keep", type=Path, help="Where to write the results.")
    asked = parser.parse_args()
    moments = random.Random(asked.seed)  # noqa: S311 no secret
    place = Path(tempfile.mkdtemp(prefix="kills-"))
    wanted, tally = prepared(place), Tally()
    for number in range(asked.rounds):
        begun = begin(place, asked.juicefs)
        moment = moments.uniform(0.05, asked.longest)
        time.sleep(moment)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        # The data of one round is the next one's, which ends with all of it removed.
        told = tally.removed(place) if number % 2 else tally.killed(place)
        tally.read(place, wanted)
        print(f"round {number}: killed after {moment:.2f} s, {told}", flush=True)
    (place / "last").touch()
    ended = begin(place, asked.juicefs).wait(120)
    result = {
        "rounds": asked.rounds,
        "something_left": tally.left_by_kills,
        "slowest_to_be_gone_seconds": round(tally.slowest, 2),
        "rounds_with_down": tally.downs,
        "something_left_by_down": tally.left_by_down,
        "wrong_reads": tally.wrong_reads,
        "last_run_exit_code": ended,
        "data_intact": (place / "read").read_text().startswith(wanted),
        "down_exit_code": down(place),
        "state_left": bool(kept(place)),
    }
    print(json.dumps(result, indent=2))
    if asked.keep:
        asked.keep.write_text(json.dumps(result, indent=2) + "\n")
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
