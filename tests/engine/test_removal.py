"""rmr and clear on a real JuiceFS: what is named goes, and nothing else."""

import os
import signal
import time
from pathlib import Path, PurePosixPath

import pytest

from localkube.waiting import wait_until
from paddle_operator.engines.juicefs import control, counters, removal
from paddle_operator.engines.reports import Data
from support.enginebox import AREA, Box, Volume
from support.runtimeprogram import RuntimeProgram

# A mount tells its size in units of so much.
STEP = 64 << 10


def test_rmr_removes_what_is_named_and_nothing_else(volume: Volume, server: RuntimeProgram) -> None:
    for name in ("n01/a", "n01/deep/b", "n012/c", "kept", "single"):
        volume.write(name, b"x" * 1000)
    done = server.done("rm", type="rmr", paths=["n01", "./single"])
    assert done["state"] == "Succeeded", done
    assert {path.name for path in volume.inside.iterdir() if path.name[0] != "."} == {"n012", "kept"}


def test_rmr_of_what_is_not_there_succeeds_and_says_so(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("here", b"x")
    done = server.done("rm", type="rmr", paths=["nothing/at/all", "here"])
    assert (done["state"], done["message"]) == ("Succeeded", "1 paths were not there: 'nothing/at/all'")
    assert not (volume.inside / "here").exists()


def test_what_goes_while_it_is_being_removed_was_not_there(volume: Volume) -> None:
    """A server that was killed had removed it, and the kernel still shows its name."""
    volume.write("vanishing", b"x")
    inode = volume.inside.stat().st_ino
    with control.opened(volume.inside) as client:
        client.remove(inode, b"vanishing")
        with pytest.raises(FileNotFoundError):
            client.remove(inode, b"vanishing")
    assert not removal.remove(volume.inside, PurePosixPath("vanishing"), lambda: False)


def test_what_the_counters_do_not_tell_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processors are busy they lag behind, and rest meanwhile."""
    known = time.monotonic() + 3 * removal.RESTING
    monkeypatch.setattr(counters, "data", lambda _mount: Data(0, 31 if time.monotonic() < known else 0))
    assert removal.settled(tmp_path, Data(0, 101), Data(0, 101)) == Data(0, 101)


def test_after_rmr_the_report_counts_what_is_left(volume: Volume, server: RuntimeProgram) -> None:
    for number in range(6):
        volume.write(f"kept/{number}", os.urandom(100_000))
        volume.write(f"old/deep/{number}", os.urandom(50_000))
    # Directories count as files, and every file has whole units of 4 KiB.
    wait_until(lambda: server.status()["data"]["files"] == 15, 30, "the files are not counted")
    assert abs(server.status()["data"]["bytes"] - (6 * 102_400 + 6 * 53_248 + 3 * 4096)) <= STEP
    assert server.done("rm", type="rmr", paths=["old"])["state"] == "Succeeded"
    wait_until(lambda: server.status()["data"]["files"] == 7, 30, "what was removed is counted")
    assert abs(server.status()["data"]["bytes"] - (6 * 102_400 + 4096)) <= STEP


def test_rmr_and_clear_say_from_the_beginning_how_much_there_is_to_do(volume: Volume, server: RuntimeProgram) -> None:
    for number in range(100):
        volume.write(f"old/{number % 3}/{number}", os.urandom(5000))
    volume.write("single", b"x")
    volume.await_cached(5000, 100)
    whole = {"totalFiles": 105, "totalBytes": 100 * 8192 + 4 * 4096 + 4096}
    server.order("rm", type="rmr", paths=["old", "single", "nothing"])
    wait_until(lambda: server.operation("rm")["progress"].items() >= whole.items(), 30, "no total", pause=0.005)
    done = server.ended("rm")["progress"]
    assert (done["files"], done["totalFiles"], done["totalBytes"]) == (105, 105, done["bytes"])
    count, size = len(volume.blocks()), sum(int(path.name.split("_")[2]) for path in volume.blocks())
    done = server.done("clear", type="clear")["progress"]
    assert done == {"files": count, "totalFiles": count, "bytes": size, "totalBytes": size}


def begun(volume: Volume, server: RuntimeProgram) -> None:
    """Have a directory of thousands of files in the middle of its removal, and another one that is next."""
    volume.write("next/kept", b"x")
    many = volume.inside / "many"
    many.mkdir()
    for number in range(2000):
        (many / str(number)).touch()
    server.order("rm", type="rmr", paths=["many", "next"])
    wait_until(lambda: len(list(many.iterdir())) < 2000, 30, "it does not begin", pause=0.01)


def test_when_an_rmr_is_cancelled_nothing_more_disappears(volume: Volume, server: RuntimeProgram) -> None:
    begun(volume, server)
    for _ in range(3):
        server.cancel("rm")
    assert server.ended("rm")["state"] == "Cancelled"
    # What the client was at is gone, and it is at nothing any more.
    assert {path.name for path in volume.inside.iterdir() if path.name[0] != "."} == {"next"}
    assert [path.name for path in (volume.inside / "next").iterdir()] == ["kept"]


def test_a_client_that_hangs_in_the_middle_of_an_rmr_does_not_keep_it_from_being_cancelled(box: Box) -> None:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    begun(volume, server)
    box.signal("mount", signal.SIGSTOP)
    try:
        server.cancel("rm")
        assert server.ended("rm")["state"] == "Cancelled"
    finally:
        box.signal("mount", signal.SIGCONT)


HOSTILE = {
    "the root": "/",
    "nothing": "",
    "the root, spelled otherwise": "./.",
    "above the root": "..",
    "out by the way": "train/../../etc",
    "an absolute path": "/etc",
    "a line end": "train\nother",
    "the end of a string": "train\0",
    "too long": "x" * 300,
    "far too deep": "x/" * 600,
    "what is JuiceFS' own": ".control",
    "its trash": ".trash/x",
}


@pytest.mark.parametrize("path", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_path_is_refused_before_anything_is_done(volume: Volume, server: RuntimeProgram, path: str) -> None:
    volume.write("train/a", b"x")
    for order in ({"type": "rmr", "paths": ["train", path]}, {"type": "warmup", "paths": ["train", path]}):
        assert server.order(str(order["type"]), **order).status == 422
    assert (volume.inside / "train/a").exists()


def test_literal_shell_words_are_names_like_any_other(volume: Volume, server: RuntimeProgram) -> None:
    names = ["$(touch hacked)", "; rm -rf .", "*", "-rf", "`id`", "with space", "数据"]
    for name in names:
        volume.write(f"odd/{name}", b"x")
    volume.write("odd/kept", b"x")
    done = server.done("rm", type="rmr", paths=[f"odd/{name}" for name in names])
    assert done["state"] == "Succeeded", done
    assert [path.name for path in (volume.inside / "odd").iterdir()] == ["kept"]


def test_a_symbolic_link_is_removed_and_never_followed(volume: Volume, server: RuntimeProgram) -> None:
    outside = volume.box.inside(AREA / "outside")
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/precious").write_text("x")
    volume.write("inside/precious", b"x")
    (volume.inside / "out").symlink_to(AREA / "outside")
    (volume.inside / "in").symlink_to("inside")
    through = server.done("through", type="rmr", paths=["out/deep"])
    inner = server.done("inner", type="rmr", paths=["in/precious"])
    itself = server.done("itself", type="rmr", paths=["out", "in"])
    assert (through["state"], inner["state"], itself["state"]) == ("Failed", "Failed", "Succeeded")
    assert (outside / "deep/precious").exists()
    assert (volume.inside / "inside/precious").exists()
    assert not (volume.inside / "out").is_symlink()


def test_clear_empties_the_cache_and_spares_everything_else(box: Box) -> None:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    for number in range(20):
        volume.write(f"train/{number}", os.urandom(5000))
    assert server.done("warm", type="warmup")["state"] == "Succeeded"
    (own,) = (path for path in box.inside(volume.cache).iterdir() if path.is_dir())
    spared = [
        own / "rawstaging/chunks/0/0/9_0_5000", box.inside(volume.cache) / "somebody's file",
        box.inside(volume.cache) / "other/raw/chunks/0/0/1_0_1", box.inside(AREA / "elsewhere/raw/chunks/0/0/1_0_1"),
    ]  # fmt: skip
    for path in spared:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    linked = box.inside(volume.cache) / "11111111-1111-4111-8111-111111111111"
    linked.symlink_to(AREA / "elsewhere")
    done = server.done("clear", type="clear")
    assert done["state"] == "Succeeded"
    assert done["result"]["deleted"] >= 20
    assert [path for path in volume.blocks() if own in path.parents] == []
    assert list((own / "raw/chunks").iterdir()) == []
    assert all(path.exists() for path in spared)
    assert (volume.inside / "train/3").read_bytes()
    assert server.done("again", type="warmup")["state"] == "Succeeded"


@pytest.mark.parametrize("path", ["/", "/etc", "/mnt", "/mnt/demo/cache-other", "/mnt/demo/cache/..", "relative", ""])
def test_only_our_own_cache_directories_can_be_cleared(volume: Volume, server: RuntimeProgram, path: str) -> None:
    del volume
    assert server.order("clear", type="clear", paths=[path]).status == 422


def test_a_cache_directory_may_be_named_as_the_original_did(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("a", b"x" * 1000)
    volume.await_cached(1000)
    assert server.done("clear", type="clear", paths=[f"{volume.cache}/*"])["state"] == "Succeeded"
    assert volume.blocks() == []
