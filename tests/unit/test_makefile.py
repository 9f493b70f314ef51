"""`make test` with a pytest that only notes what it is asked, and ends as it is told."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTEST = """#!/bin/sh
echo "pytest $*" >>"$(dirname "$0")/calls"
case "$2" in cluster) exit {cluster} ;; *) exit {others} ;; esac
"""
PYTHON = f"""#!/bin/sh
case "$*" in
"-m support.provisions"*) echo "$PYTHONPATH $*" >>"$(dirname "$0")/calls"; [ "$3" ] || exit {{provided}} ;;
*) exec {shlex.quote(sys.executable)} "$@" ;;
esac
"""
LOCALKUBE = """#!/bin/sh
echo "localkube $*" >>"$(dirname "$0")/calls"
exit {prepared}
"""


def make_test(
    place: Path, *words: str, others: int = 0, cluster: int = 0, prepared: int = 0, provided: int = 0
) -> tuple[bool, list[str]]:
    """Tell whether it was content, and what it asked of localkube and of pytest."""
    programs = {
        "pytest": PYTEST.format(others=others, cluster=cluster),
        "localkube": LOCALKUBE.format(prepared=prepared),
        "python": PYTHON.format(provided=provided),
    }
    for name, text in programs.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    ready = [f"--old-file={name}" for name in ("ready", "redis", "juicefs")]
    argv = ["make", *ready, f"BIN={place}", "PARALLEL=--everywhere", "test", *words]
    # Nothing of the make that may have started us.
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0, sorted((place / "calls").read_text().splitlines())


@pytest.mark.parametrize(
    ("others", "cluster", "content"),
    [(0, 0, True), (1, 0, False), (0, 1, False), (1, 1, False), (5, 0, True), (0, 5, True), (5, 1, False),
     (1, 5, False), (5, 5, False)],
)  # fmt: skip
def test_both_parts_run_and_one_may_choose_nothing(tmp_path: Path, others: int, cluster: int, content: bool) -> None:  # noqa: FBT001 a row of the table
    assert make_test(tmp_path, "ARGS=-k some", others=others, cluster=cluster) == (
        content,
        ["localkube prepare", "pytest -m cluster -k some", "pytest -m not cluster --everywhere -k some"],
    )


def test_whole_runs_have_all_images_and_three_clusters_and_say_which_tests_are_slow(tmp_path: Path) -> None:
    _, calls = make_test(tmp_path)
    on_clusters = "pytest -m cluster --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations=25"
    others = "pytest -m not cluster --everywhere --durations=25"
    provisions = "tests -m support.provisions"
    assert calls == [on_clusters, others, provisions, f"{provisions} packages"]


def test_without_images_there_is_no_test_on_a_cluster(tmp_path: Path) -> None:
    was_content, calls = make_test(tmp_path, provided=1)
    assert not was_content
    assert [call[:18] for call in calls if call.startswith("pytest")] == ["pytest -m not clus"]


@pytest.mark.parametrize(("prepared", "content", "asked"), [(0, True, True), (3, True, True), (1, False, False)])
def test_where_kubernetes_cannot_be_had_its_tests_run_and_skip_and_where_it_breaks_they_do_not(
    tmp_path: Path,
    prepared: int,
    content: bool,  # noqa: FBT001 a row of the table
    asked: bool,  # noqa: FBT001 a row of the table
) -> None:
    was_content, calls = make_test(tmp_path, "ARGS=-k some", prepared=prepared)
    assert (was_content, any("pytest -m cluster" in call for call in calls)) == (content, asked)
