"""What is taken for a cluster's leftover, and what is not."""

import subprocess
from pathlib import Path

import pytest

from localkube.waiting import wait_until
from support import machine


@pytest.mark.parametrize(("name", "seen"), [("program", True), ("pytest", False)])
def test_processes_elsewhere_are_seen_unless_another_run_of_tests_started_them(
    tmp_path: Path,
    name: str,
    seen: bool,  # noqa: FBT001 a row of the table
) -> None:
    program = tmp_path / name
    program.write_text("unshare --mount sleep 60\nexit\n")
    with subprocess.Popen(["sh", str(program)]) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text().split() != [], 90, "it starts nothing")
        child = children.read_text().strip()
        try:
            wait_until(lambda: is_elsewhere(child), 90, "it stays here")
            rows = machine.trace("0123abcd")["processes"]
        finally:
            subprocess.run(["kill", "-KILL", child, str(process.pid)], check=True)
    assert any(row.startswith(f"{child} ") for row in rows) == seen


def is_elsewhere(pid: str) -> bool:
    return Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()
