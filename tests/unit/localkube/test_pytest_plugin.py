"""The plug-in disturbs nobody who has it installed and does not use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_EXTRAS = "import sys; sys.modules['cryptography'] = None; import localkube.pytest_plugin"


def test_it_loads_where_nothing_but_the_operator_is_installed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], check=True)


@pytest.mark.parametrize(
    ("together", "workers"), [("test_first test_second", 1), ("test_first test_third", 2), ("", 2)]
)
def test_files_that_belong_together_go_to_one_cluster(tmp_path: Path, together: str, workers: int) -> None:
    """The first two files are dealt to two processes, unless they belong together."""
    note = "import os, pathlib\ndef test(worker_id): pathlib.Path(__file__).with_suffix('.at').write_text(worker_id)\n"
    for name in ("first", "second", "third", "fourth"):
        (tmp_path / f"test_{name}.py").write_text(note)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nlocalkube_together = {together}\n")
    argv = ["pytest", "-p", "no:cacheprovider", "--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"]
    files = [f"test_{name}.py" for name in ("first", "second", "third", "fourth")]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run([sys.executable, "-m", *argv, *files], cwd=tmp_path, env=others, check=True)
    assert len({(tmp_path / f"test_{name}.at").read_text() for name in ("first", "second")}) == workers
