"""Kills a run at random moments, many times, and looks for what is left: processes, mounts, locks, broken data."""

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
from pathlib import Path

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


def gone(place: Path) -> float:
    """Wait until nothing is left, and give how long it took; -1 if something stays."""
    began = time.monotonic()
    while time.monotonic() - began < GONE_WITHIN:
        if not left(place):
            return time.monotonic() - began
        time.sleep(0.02)
    return -1.0


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
    wanted = prepared(place)
    stayed, slowest, wrong = 0, 0.0, 0
    for number in range(asked.rounds):
        begun = begin(place, asked.juicefs)
        moment = moments.uniform(0.05, asked.longest)
        time.sleep(moment)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        took = gone(place)
        stayed += took < 0
        slowest = max(slowest, took)
        read = place / "read"
        if read.exists() and read.read_text() and not read.read_text().startswith(wanted):
            wrong += 1
        read.unlink(missing_ok=True)
        print(f"round {number}: killed after {moment:.2f} s, gone after {took:.2f} s", flush=True)
    (place / "last").touch()
    ended = begin(place, asked.juicefs).wait(120)
    intact = (place / "read").read_text().startswith(wanted)
    removed = subprocess.run(command(place, "down"), env=environment(), check=False, capture_output=True).returncode
    result = {
        "rounds": asked.rounds,
        "something_left": stayed,
        "slowest_to_be_gone_seconds": round(slowest, 2),
        "wrong_reads": wrong,
        "last_run_exit_code": ended,
        "data_intact": intact,
        "down_exit_code": removed,
        "state_left": (place / "state").exists(),
    }
    print(json.dumps(result, indent=2))
    if asked.keep:
        asked.keep.write_text(json.dumps(result, indent=2) + "\n")
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
