"""Measures what `make quickstart` takes in a fresh clone of this checkout, and a second time."""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Facts, Findings
from localkube.progress import Progress

ROOT = Path(__file__).parents[1]
COMMAND = ".venv/bin/python bench/quick_start.py"
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

`make quickstart` in a fresh clone, with nothing installed but Python: its own environment, JuiceFS, a small data set of
images, a SampleSet, four SampleJobs, and a PaddleJob that trains on the cached images. PaddlePaddle, about 200 MB, is
fetched beforehand and counted apart: that is the network's time. Then once more, with what the first left.
"""


def took(clone: Path, *argv: str) -> float:
    """Run it to its good end, and give the seconds."""
    begun = time.monotonic()
    done = subprocess.run(argv, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}")
    return time.monotonic() - begun


def measure(progress: Progress) -> Facts:
    with tempfile.TemporaryDirectory(prefix="quickstart-") as scratch:
        clone = Path(scratch) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        try:
            with progress.step("an environment"):
                environment = took(clone, "make", "ready")
            with progress.step("PaddlePaddle"):
                paddle = took(clone, "tools/paddle", "dist/paddle")
            with progress.step("the first time"):
                first = took(clone, "make", "quickstart")
            with progress.step("the second time"):
                second = took(clone, "make", "quickstart")
        finally:
            took(clone, "make", "clean")
    return {
        "the first time, PaddlePaddle's download apart": f"{environment + first:.0f} s",
        "of it, an environment for Python": f"{environment:.0f} s",
        "the download of PaddlePaddle": f"{paddle:.0f} s",
        "the second time": f"{second:.0f} s",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 3 minutes.")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    found = Findings.of(measure(Progress()))
    found.show()
    if asked.keep:
        found.keep("quickstart", "What the quick start takes", PREFACE)


if __name__ == "__main__":
    main()
