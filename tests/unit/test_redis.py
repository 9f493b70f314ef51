"""`tools/redis` on machines that have none."""

import os
import subprocess
from pathlib import Path

import pytest

from localkube import packages

SCRIPT = Path(__file__).parents[2] / "tools/redis"
APT_GET = """#!/bin/sh
{report}
case "$*" in
*update*) exit {update} ;;
*redis-server) [ {install} = 0 ] || exit {install} ;;
esac
: >"$PROGRAMS/redis-server"
/bin/chmod 755 "$PROGRAMS/redis-server"
"""
NO_REDIS = "There is no redis-server, so tests that mount JuiceFS skip: install it (Debian: redis-server).\n"
INSTALLING = "  installing redis-server with apt-get\n"


class Machine:
    """A machine with few programs, and with an apt-get that ends as it is told."""

    def __init__(self, root: Path) -> None:
        self.programs, self.log = root / "bin", root / "log"
        self.programs.mkdir()

    def has(self, name: str, script: str = "#!/bin/sh\n") -> None:
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def has_apt_get(self, *, update: int = 0, install: int = 0) -> None:
        report = f'/usr/bin/env >>"{self.log}"'
        self.has("apt-get", APT_GET.format(report=report, update=update, install=install))

    def look(self, user: int = 0) -> tuple[int, str]:
        self.has("id", f"#!/bin/sh\necho {user}\n")
        variables = {"PATH": str(self.programs), "PROGRAMS": str(self.programs)}
        done = subprocess.run(["/bin/sh", SCRIPT], env=variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_where_it_is_nothing_is_said(machine: Machine) -> None:
    machine.has("redis-server")
    assert machine.look() == (0, "")


def test_it_is_installed_without_starting_a_service_and_without_a_setting_of_the_machine(machine: Machine) -> None:
    """What only a process is told goes with it, also when it is killed."""
    machine.has_apt_get()
    assert machine.look() == (0, INSTALLING)
    assert os.access(machine.programs / "redis-server", os.X_OK)
    told = machine.log.read_text().splitlines()
    assert {f"{name}={value}" for name, value in packages._QUIET.items()} <= set(told)
    assert "policy-rc.d" not in SCRIPT.read_text()


def test_a_broken_source_does_not_keep_us_from_the_others(machine: Machine) -> None:
    machine.has_apt_get(update=100)
    assert machine.look() == (0, INSTALLING)


@pytest.mark.parametrize("user", [0, 1000])
def test_where_it_cannot_be_had_that_is_one_sentence_and_no_failure(machine: Machine, user: int) -> None:
    assert machine.look(user) == (0, NO_REDIS)
    machine.has_apt_get(install=100)
    assert machine.look(user) == (0, f"{INSTALLING if user == 0 else ''}{NO_REDIS}")
