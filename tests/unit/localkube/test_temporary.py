"""A home that goes with its program, whichever way that one ends."""

import subprocess
import sys
from pathlib import Path

from localkube import temporary
from localkube.progress import Progress

HOLD = """
import pathlib, sys
from localkube import temporary
from localkube.progress import Progress
with temporary.home(pathlib.Path("/nowhere"), Progress(), pathlib.Path(sys.argv[1])) as home:
    (home.state / "cluster").mkdir()
    print(home.state, flush=True)
    sys.stdin.read()
"""


def holder(place: Path) -> tuple[subprocess.Popen[str], Path]:
    argv = [sys.executable, "-c", HOLD, str(place)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_goes_at_the_end_with_its_clusters(tmp_path: Path, progress: Progress) -> None:
    with temporary.home(tmp_path, progress, tmp_path) as home:
        (home.state / "cluster").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_program_left_goes_and_what_another_uses_stays(tmp_path: Path, progress: Progress) -> None:
    (tmp_path / "lk-of-somebody").mkdir()
    killed, left = holder(tmp_path)
    with killed:
        killed.kill()
    running, used = holder(tmp_path)
    with running, temporary.home(tmp_path, progress, tmp_path) as home:
        found = {path for path in tmp_path.iterdir() if path.name != "lk-of-somebody"}
        running.kill()
    assert left.name.startswith("lk-")
    assert found == {used, home.state}
    assert (tmp_path / "lk-of-somebody").is_dir()
