"""Where images are made: one maker at a time, and a killed one leaves nothing in the next one's way."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from localkube import errors
from localkube.images import workshop
from localkube.paths import Home

# Mounts a file system on its drafts, says so, and never ends by itself.
MAKER = """
import sys
from pathlib import Path
from localkube.images import workshop
from localkube.paths import Home
home = Home(state=Path(sys.argv[1]), cache=Path(sys.argv[1]))
with workshop.opened(home, "test") as shop:
    script = f"mount -t tmpfs tmpfs {shop.drafts} && touch {shop.drafts}/half && echo mounted && sleep 1000"
    shop.run(["sh", "-c", script], lambda line: print(line, flush=True))
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of its own need root")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(state=tmp_path, cache=tmp_path)


@needs_root
def test_lines_are_told_as_they_come_and_the_last_ones_explain_a_failure(home: Home) -> None:
    told: list[str] = []
    with workshop.opened(home, "test") as shop, pytest.raises(errors.CommandFailedError) as caught:
        shop.run(["sh", "-c", "echo first; for i in $(seq 50); do echo $i; done; echo why >&2; exit 3"], told.append)
    assert told[0] == "first"
    assert len(told) == 52
    assert caught.value.code == 3
    assert caught.value.output.splitlines()[-2:] == ["50", "why"]
    assert len(caught.value.output.splitlines()) == workshop.KEPT_LINES


@needs_root
def test_a_tool_has_no_network_unless_it_is_given(home: Home) -> None:
    own = Path("/proc/self/ns/net").readlink()
    seen: list[str] = []
    with workshop.opened(home, "test") as shop:
        for network in (True, False):
            shop.run(["readlink", "/proc/self/ns/net"], seen.append, network=network)
    assert seen[0] == str(own)
    assert seen[1] != str(own)


def test_a_tool_that_is_not_installed_is_named(home: Home) -> None:
    with (
        workshop.opened(home, "test") as shop,
        pytest.raises(errors.LocalkubeError, match="install the package no-such-tool"),
    ):
        shop.run(["no-such-tool"])


@needs_root
def test_a_killed_maker_leaves_no_process_no_mount_and_no_draft(home: Home) -> None:
    """The tool holds the lock as well: to get it is to know that the tool has ended."""
    with subprocess.Popen([sys.executable, "-c", MAKER, str(home.cache)], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "mounted\n"
        maker.kill()
    with workshop.opened(home, "test") as shop:
        assert not list(shop.drafts.iterdir())
        assert str(shop.drafts) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def test_a_second_maker_waits_and_says_so(home: Home) -> None:
    order: list[str] = []
    waiting = threading.Event()

    def say(message: str) -> None:
        order.append(message)
        waiting.set()

    def second() -> None:
        with workshop.opened(home, "test", say):
            order.append("second")

    thread = threading.Thread(target=second)
    with workshop.opened(home, "test"):
        thread.start()
        assert waiting.wait(30)
        order.append("first")
    thread.join(30)
    assert order == ["Another localkube is making an image; waiting for it to finish.", "first", "second"]


def test_drafts_are_gone_afterwards_and_swept_before(home: Home) -> None:
    left = workshop.directory(home) / ".test.drafts" / "left" / "by" / "a" / "killed" / "one"
    left.mkdir(parents=True)
    with workshop.opened(home, "test") as shop:
        assert not list(shop.drafts.iterdir())
        (shop.drafts / "new").write_text("x")
    assert not shop.drafts.exists()
