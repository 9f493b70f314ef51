"""`tools/prerequisites` on machines that lack something."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/prerequisites"
NO_IP = (
    "error: there is no program ip: install iproute2 (Debian and Ubuntu: apt-get install iproute2), "
    "then run this again.\n"
)
NO_FUSE = "error: there is no {device}, by which data is mounted: load the kernel's module as root (modprobe fuse), or"
APT_GET = """#!/bin/sh
[ "$1" = update ] || ln -s /bin/true "$(dirname "$0")/ip"
"""


class Machine:
    """A machine with few programs, and with FUSE or without."""

    def __init__(self, root: Path) -> None:
        self.programs, self.device = root / "bin", root / "fuse"
        self.programs.mkdir()
        for tool in ("dirname", "ln"):
            (self.programs / tool).symlink_to(shutil.which(tool) or tool)
        self.script = root / "prerequisites"
        self.script.write_text(SCRIPT.read_text().replace("/dev/fuse", str(self.device)))

    def has(self, name: str, script: str = "#!/bin/sh\n") -> None:
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def look(self, user: int) -> tuple[int, str]:
        self.has("id", f"#!/bin/sh\necho {user}\n")
        argv = ["/bin/sh", str(self.script)]
        done = subprocess.run(argv, env={"PATH": str(self.programs)}, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_where_all_is_there_nothing_is_said(machine: Machine) -> None:
    machine.has("ip")
    machine.device.touch()
    assert machine.look(1000) == (0, "")


def test_root_has_what_is_missing_installed(machine: Machine) -> None:
    machine.has("apt-get", APT_GET)
    machine.has("modprobe", f"#!/bin/sh\n: >{machine.device}\n")
    assert machine.look(0) == (0, "  installing iproute2 with apt-get\n")
    assert os.path.lexists(machine.programs / "ip")


@pytest.mark.parametrize(
    ("user", "apt"),
    [
        pytest.param(1000, APT_GET, id="who may not install"),
        pytest.param(0, "", id="who has nothing to install with"),
        pytest.param(0, "#!/bin/sh\nexit 1\n", id="who fails to install"),
    ],
)
def test_who_cannot_have_ip_is_told_so_in_a_sentence(machine: Machine, user: int, apt: str) -> None:
    machine.device.touch()
    if apt:
        machine.has("apt-get", apt)
    code, words = machine.look(user)
    assert code == 1
    assert words.endswith(NO_IP)


@pytest.mark.parametrize("user", [0, 1000])
def test_who_cannot_have_fuse_is_told_so_in_a_sentence(machine: Machine, user: int) -> None:
    machine.has("ip")
    code, words = machine.look(user)
    assert code == 1
    assert words.startswith(NO_FUSE.format(device=machine.device))
