"""`tools/bootstrap` in a tree of its own, with a uv that only notes what it is asked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).parents[2] / "tools/bootstrap"
ORDINARY_TOOLS = ("cat", "cksum", "dirname", "head", "id", "mkdir", "ln", "mv", "rm", "flock", "awk", "cp")
UV = f"""#!/bin/sh
[ "$1" = --version ] || echo "$1 $2" >>calls
case "$1 $2" in
venv*) mkdir -p .venv/bin; ln -s {sys.executable} .venv/bin/python ;;
"pip sync") [ ! -f die ] || kill -9 "$PPID" ;;
esac
"""
# It makes environments with itself as their Python, and notes what pip is to install; of uv it may have a wheel.
PYTHON = """#!/bin/sh
case "$*" in
"-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
*"--requirement .venv/uv.lock") cp .venv/uv.lock asked; cp wheel .venv/bin/uv ;;
*" install "*) echo "python $*" >>calls ;;
esac
"""
LOCK = """\
uuid==1 \\
    --hash=sha256:aa
    # via something
uv==2 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
uvicorn==3 \\
    --hash=sha256:dd
"""
NO_PYTHON = (
    "error: there is no Python 3.11 or newer here: install one (Debian 12, Ubuntu 24.04 and newer: "
    "apt-get install python3 python3-venv) or install uv, then run this again."
)
WHOLE_SETUP = ["venv --quiet", "pip sync", "pip install"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for directory in ("tools", "bin"):
        (tmp_path / directory).mkdir()
    shutil.copy(BOOTSTRAP, tmp_path / "tools/bootstrap")
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("first")
    for tool in ORDINARY_TOOLS:
        if found := shutil.which(tool):
            (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def place(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def bootstrap(checkout: Path) -> subprocess.CompletedProcess[str]:
    argv = ["/bin/sh", str(checkout / "tools/bootstrap")]
    return subprocess.run(argv, env={"PATH": str(checkout / "bin")}, capture_output=True, text=True, check=False)


def calls(checkout: Path) -> list[str]:
    """Take what uv was asked since the last time."""
    noted = checkout / "calls"
    lines = noted.read_text().splitlines() if noted.exists() else []
    noted.unlink(missing_ok=True)
    return lines


def test_what_is_ready_is_left_alone_in_silence(checkout: Path) -> None:
    place(checkout / "bin/uv", UV)
    assert bootstrap(checkout).returncode == 0
    assert calls(checkout) == WHOLE_SETUP
    again = bootstrap(checkout)
    assert (again.returncode, again.stdout, again.stderr, calls(checkout)) == (0, "", "", [])


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements.lock"])
def test_a_change_is_followed_without_making_the_environment_anew(checkout: Path, changed: str) -> None:
    place(checkout / "bin/uv", UV)
    bootstrap(checkout)
    calls(checkout)
    (checkout / changed).write_text("second")
    os.utime(checkout / changed, (0, 0))  # an older file can still be another one
    assert bootstrap(checkout).returncode == 0
    assert calls(checkout) == ["pip sync", "pip install"]


def test_killed_half_way_it_begins_anew(checkout: Path) -> None:
    place(checkout / "bin/uv", UV)
    (checkout / "die").touch()
    assert bootstrap(checkout).returncode < 0
    (checkout / "die").unlink()
    calls(checkout)
    assert bootstrap(checkout).returncode == 0
    assert calls(checkout) == WHOLE_SETUP


def test_a_moved_checkout_gets_an_environment_of_its_own(checkout: Path) -> None:
    place(checkout / "bin/uv", UV)
    bootstrap(checkout)
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    calls(moved)
    assert bootstrap(moved).returncode == 0
    assert calls(moved) == WHOLE_SETUP


def test_without_uv_pip_brings_the_locked_one_and_that_the_rest(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text(LOCK)
    place(checkout / "bin/python3", PYTHON)
    place(checkout / "wheel", UV)
    assert bootstrap(checkout).returncode == 0
    assert (checkout / "asked").read_text().split() == ["uv==2", "\\", "--hash=sha256:bb", "\\", "--hash=sha256:cc"]
    assert calls(checkout) == ["pip sync", "pip install"]


def test_where_no_uv_can_be_had_pip_does_it_all(checkout: Path) -> None:
    place(checkout / "bin/python3", PYTHON)
    assert bootstrap(checkout).returncode == 0
    locked, own = calls(checkout)
    assert locked.endswith("install --require-hashes --requirement requirements.lock")
    assert own.endswith("install --no-deps --no-build-isolation --editable .")


@pytest.mark.parametrize("python", [None, "#!/bin/sh\nexit 1\n"], ids=["no python at all", "one that is too old"])
def test_without_a_python_that_will_do_one_sentence_says_what_to_do(checkout: Path, python: str | None) -> None:
    if python:
        place(checkout / "bin/python3", python)
    result = bootstrap(checkout)
    assert result.returncode == 1
    assert result.stderr.splitlines()[1:] == [NO_PYTHON]


def test_a_python_without_its_venv_module_is_named(checkout: Path) -> None:
    place(checkout / "bin/python3", '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\n')
    result = bootstrap(checkout)
    assert result.returncode == 1
    assert f"error: {checkout}/bin/python3 cannot make virtual environments: install its venv module" in result.stderr
