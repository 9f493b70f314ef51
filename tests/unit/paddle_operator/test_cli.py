"""The `paddle-operator` command, as people type it."""

import platform
import subprocess
import sys
import tomllib
from pathlib import Path

from click.testing import CliRunner

from paddle_operator.cli.main import VERBS, main

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_projects_with_pythons_and_the_platform() -> None:
    result = CliRunner().invoke(main, ["version"])
    running_on = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    assert (result.exit_code, result.output) == (0, f"paddle-operator {PROJECT['version']} ({running_on})\n")


def test_the_installed_command_is_the_same_command() -> None:
    command = Path(sys.executable).with_name("paddle-operator")
    printed = subprocess.run([command, "version"], capture_output=True, text=True, check=True).stdout
    assert printed == CliRunner().invoke(main, ["version"]).output


def test_help_names_every_verb() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")
    listed = result.output.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == sorted(VERBS)


def test_a_verb_imports_nothing_of_the_others() -> None:
    """A runtime server begins beside each partition, a plugin on each node: both soon."""
    others = {
        "version": ("aiohttp", "grpc"),
        "csi-node": ("aiohttp",),
        "runtime-server": ("grpc", "paddle_operator.kube"),
    }
    for verb, modules in others.items():
        program = f"import sys; sys.argv[1:] = [{verb!r}, '--help']; from paddle_operator.cli.main import main"
        look = f"print([name for name in {modules!r} if name in sys.modules])"
        argv = [sys.executable, "-c", f"{program}; main(standalone_mode=False); {look}"]
        assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "[]", verb


def test_an_unknown_verb_is_refused_in_one_sentence() -> None:
    result = CliRunner().invoke(main, ["trian"])
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: No such command 'trian'.\n")
