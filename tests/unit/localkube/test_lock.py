"""One at a time: a second comer waits and says so, a killed holder is no obstacle."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localkube import errors, lock
from localkube.waiting import wait_until

HOLD = """
import pathlib, sys, time
from localkube import lock
with lock.exclusive(pathlib.Path(sys.argv[1]), "", print):
    print("held", flush=True)
    time.sleep(60)
"""


def _holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_who_comes_second_says_that_it_waits_and_goes_on_when_the_first_is_killed(tmp_path: Path) -> None:
    with _holder(tmp_path / "lock") as holder:
        said: list[str] = []

        def say(message: str) -> None:
            said.append(message)
            os.kill(holder.pid, signal.SIGKILL)

        with lock.exclusive(tmp_path / "lock", "waiting", say):
            assert said == ["waiting"]


def test_who_comes_alone_says_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    with lock.exclusive(tmp_path / "deep" / "lock", "waiting", said.append) as descriptor:
        assert os.fstat(descriptor).st_mode & 0o777 == 0o600
    assert said == []


def test_others_can_see_whether_somebody_has_it(tmp_path: Path) -> None:
    assert not lock.is_held(tmp_path / "lock")
    with _holder(tmp_path / "lock") as holder:
        assert lock.is_held(tmp_path / "lock")
        holder.kill()
    assert not lock.is_held(tmp_path / "lock")


def test_the_first_free_lock_is_taken(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "two")]
    with _holder(paths[0]) as holder:
        with lock.first_free(iter(paths)) as held:
            assert held == paths[1]
            with lock.first_free(iter(paths)) as third:
                assert third is None
        holder.kill()
    with lock.first_free(iter(paths)) as held:
        assert held == paths[0]


def test_waiting_ends_when_it_is_true_and_an_error_counts_as_not_yet() -> None:
    answers = iter(["no", "error", "yes"])

    def ask() -> bool:
        answer = next(answers)
        if answer == "error":
            raise errors.LocalkubeError("not yet")
        return answer == "yes"

    wait_until(ask, 5.0, "never", pause=0.0)
    assert next(answers, None) is None


def test_waiting_in_vain_ends_with_the_reason() -> None:
    with pytest.raises(errors.LocalkubeError, match=r"the moon is not blue \(0 s passed\)"):
        wait_until(lambda: False, 0.0, "the moon is not blue", pause=0.0)


def test_a_defect_in_the_question_is_not_taken_for_not_yet() -> None:
    def ask() -> bool:
        raise KeyError("a defect")

    with pytest.raises(KeyError):
        wait_until(ask, 5.0, "never")
