"""A way into a directory on which no link is followed."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import shelter


def test_a_child_finds_files_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/file").write_text("here")
    (tmp_path / "link").symlink_to("inner")
    before = Path("/proc/self/mountinfo").read_text()
    with shelter.sheltered(tmp_path) as descriptor:
        if descriptor is None:
            pytest.skip("mounting is not allowed here")
        read = ["cat", f"/proc/self/fd/{descriptor}/inner/file", f"/proc/self/fd/{descriptor}/link/file"]
        done = subprocess.run(read, pass_fds=(descriptor,), capture_output=True, text=True, check=False)
        assert done.stdout == "here"
        assert os.strerror(errno.ELOOP) in done.stderr
    assert Path("/proc/self/mountinfo").read_text() == before


def test_where_it_cannot_be_had_that_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with shelter.sheltered(tmp_path / "nothing") as descriptor:
        assert descriptor is None
    assert "may be followed" in caplog.text
