"""What a machine must have before data can be mounted on it."""

import sys
from pathlib import Path

import pytest

from paddle_operator.embedded.node import plugin


@pytest.mark.parametrize(
    ("program", "device", "words"),
    [
        pytest.param(
            "/nowhere/juicefs", "/dev/null", "there is no program /nowhere/juicefs: put it on PATH", id="no JuiceFS"
        ),
        pytest.param(
            sys.executable, "/nowhere/fuse", "there is no /nowhere/fuse: load the kernel's module", id="no FUSE"
        ),
        pytest.param(sys.executable, "/dev/null", "", id="nothing"),
    ],
)
def test_what_is_lacking_is_said(monkeypatch: pytest.MonkeyPatch, program: str, device: str, words: str) -> None:
    monkeypatch.setattr(plugin, "FUSE", Path(device))
    found = plugin.lacking(program)
    assert found.startswith(words)
    assert bool(found) == bool(words)
