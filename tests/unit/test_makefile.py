"""`make test` with a pytest that only notes what it is asked, and ends as it is told."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTEST = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
case "$2" in cluster) exit {cluster} ;; *) exit {others} ;; esac
"""


def make_test(place: Path, *words: str, others: int = 0, cluster: int = 0) -> tuple[bool, list[str]]:
    """Tell whether it was content, and what it asked of pytest."""
    program = place / "pytest"
    program.write_text(PYTEST.format(others=others, cluster=cluster))
    program.chmod(0o755)
    argv = ["make", "--old-file=prepared", f"BIN={place}", "PARALLEL=--everywhere", "test", *words]
    # Nothing of the make that may have started us.
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0, (place / "calls").read_text().splitlines()


@pytest.mark.parametrize(
    ("others", "cluster", "content"),
    [(0, 0, True), (1, 0, False), (0, 1, False), (1, 1, False), (5, 0, True), (0, 5, True), (5, 1, False),
     (1, 5, False), (5, 5, False)],
)  # fmt: skip
def test_both_parts_run_and_one_may_choose_nothing(tmp_path: Path, others: int, cluster: int, content: bool) -> None:  # noqa: FBT001 a row of the table
    assert make_test(tmp_path, "ARGS=-k some", others=others, cluster=cluster) == (
        content,
        ["-m not cluster --everywhere -k some", "-m cluster -k some"],
    )


def test_whole_runs_have_two_clusters_and_say_which_tests_are_slow(tmp_path: Path) -> None:
    _, calls = make_test(tmp_path)
    on_clusters = "-m cluster --numprocesses 2 --dist loadfile --durations=25"
    assert calls == ["-m not cluster --everywhere --durations=25", on_clusters]
