"""`paddle-operator runtime-server`: what it says when it cannot start."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from paddle_operator.cli.main import main


def begun(directory: Path, content: str) -> str:
    (directory / "token").write_text(content)
    options = {"mount-path": "/mnt", "token-file": str(directory / "token"), "spool": str(directory / "spool")}
    words = [f"--{name}={value}" for name, value in options.items()]
    result = CliRunner().invoke(main, ["runtime-server", "--port=0", *words])
    assert result.exit_code == 1
    return result.output


def test_without_a_token_it_does_not_start(tmp_path: Path) -> None:
    assert "is not there, or empty" in begun(tmp_path, "\n")


def test_without_juicefs_it_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/juicefs"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho something else\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert "does not tell its version" in begun(tmp_path, "token")
