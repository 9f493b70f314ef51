"""The first process keeps programs running, restarts them, stops them when asked, and survives odd requests."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube import errors
from localkube.init.control import Control, Program
from localkube.waiting import wait_until

MAIN = """
import pathlib, sys
from localkube.init import supervisor
supervisor.Supervisor(supervisor.listen(pathlib.Path(sys.argv[1]))).run()
"""


SLOW_MAIN = """
import pathlib, sys, time
from localkube.init import supervisor
listener = supervisor.listen(pathlib.Path(sys.argv[1]))
time.sleep(0.3)
pathlib.Path(sys.argv[2]).touch()
supervisor.Supervisor(listener).run()
"""


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    path = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", MAIN, str(path)], stderr=subprocess.DEVNULL)
    found = Control(path, "the supervisor")
    found.wait()
    yield found
    if found.alive():
        found.shut_down(grace=1.0)
    assert process.wait(timeout=10) == 0


def _program(tmp_path: Path, script: str, *, restart: bool = True, wait_for: Path | None = None) -> Program:
    return Program(
        name="unit",
        argv=["/bin/sh", "-c", script],
        environment={"PATH": os.environ["PATH"]},
        log=str(tmp_path / "log"),
        restart=restart,
        wait_for=str(wait_for) if wait_for else None,
    )


def test_a_program_runs_with_its_log_and_environment(control: Control, tmp_path: Path) -> None:
    control.start(_program(tmp_path, 'echo "out $PATH"; echo err >&2; exec sleep 60'))
    wait_until(lambda: (tmp_path / "log").read_text() == f"out {os.environ['PATH']}\nerr\n", 90, "no log")
    state = control.status()["unit"]
    assert (state.wanted, state.restarts) == (True, 0)
    assert state.pid is not None


def test_starting_what_runs_changes_nothing(control: Control, tmp_path: Path) -> None:
    program = _program(tmp_path, "exec sleep 60")
    control.start(program)
    before = control.status()["unit"].pid
    control.start(program)
    assert control.status()["unit"].pid == before


def test_a_killed_program_is_started_again(control: Control, tmp_path: Path) -> None:
    control.start(_program(tmp_path, "exec sleep 60"))
    first = control.status()["unit"].pid
    control.kill("unit")
    wait_until(lambda: control.status()["unit"].restarts == 1, 90, "not restarted")
    state = control.status()["unit"]
    assert state.pid not in {None, first}
    assert state.last_exit == -signal.SIGKILL


def test_a_program_that_is_not_to_be_restarted_stays_ended(control: Control, tmp_path: Path) -> None:
    control.start(_program(tmp_path, "exit 7", restart=False))
    wait_until(lambda: control.status()["unit"].last_exit == 7, 90, "did not end")
    state = control.status()["unit"]
    assert (state.pid, state.wanted, state.restarts) == (None, False, 0)


def test_a_stopped_program_stays_stopped_until_it_is_started(control: Control, tmp_path: Path) -> None:
    program = _program(tmp_path, "exec sleep 60")
    control.start(program)
    control.stop("unit")
    assert control.status()["unit"].pid is None
    control.start(program)
    assert control.status()["unit"].pid is not None


def test_a_program_deaf_to_sigterm_is_killed_after_its_grace(control: Control, tmp_path: Path) -> None:
    control.start(_program(tmp_path, f'trap "" TERM; touch {tmp_path}/deaf; while :; do sleep 0.05; done'))
    wait_until((tmp_path / "deaf").exists, 90, "not started")
    control.stop("unit", grace=0.3)
    state = control.status()["unit"]
    assert (state.pid, state.last_exit) == (None, -signal.SIGKILL)


def test_a_program_waits_for_what_it_needs(control: Control, tmp_path: Path) -> None:
    needed = tmp_path / "needed"
    control.start(_program(tmp_path, "exec sleep 60", wait_for=needed))
    assert control.status()["unit"].pid is None
    needed.touch()
    wait_until(lambda: control.status()["unit"].pid is not None, 90, "still waiting")


def test_a_program_that_does_not_exist_is_tried_again_and_harms_nobody(control: Control, tmp_path: Path) -> None:
    control.start(Program("unit", ["/no/such/program"], {}, str(tmp_path / "log")))
    wait_until(lambda: control.status()["unit"].last_exit == 127, 90, "no failure seen")
    assert control.alive()


@pytest.mark.parametrize(
    "request_line",
    [
        b"\n",
        b"not json\n",
        b"[]\n",
        b"{}\n",
        b'{"do": "dance"}\n',
        b'{"do": "stop"}\n',
        b'{"do": "start", "unit": {}}\n',
        b"\xff\n",
    ],
)
def test_an_odd_request_is_answered_with_an_error(control: Control, request_line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(control.path))
        connection.sendall(request_line)
        assert b'"error"' in connection.recv(4096)
    assert control.status() == {}


def test_a_client_that_says_nothing_and_leaves_is_forgotten(control: Control) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(control.path))
    assert control.status() == {}


def test_an_unknown_program_is_refused_with_the_known_ones(control: Control, tmp_path: Path) -> None:
    control.start(_program(tmp_path, "exec sleep 60"))
    with pytest.raises(errors.LocalkubeError, match="the supervisor has no other; it has unit"):
        control.kill("other")


def test_orphans_are_reaped_by_the_first_process(tmp_path: Path) -> None:
    """As process 1 of a PID namespace, which is where it matters."""
    path = tmp_path / "s"
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", MAIN, str(path)]
    with subprocess.Popen(unshare, stderr=subprocess.DEVNULL) as process:
        control = Control(path, "the supervisor")
        control.wait()
        control.start(_program(tmp_path, "for i in 1 2 3 4 5; do (sleep 0.05 &); done; exec sleep 60"))
        zombies = "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"
        inside = ["nsenter", "--target", str(control.pid()), "--pid", "--mount", "sh", "-c", zombies]

        def settled() -> bool:
            count = subprocess.run(inside, capture_output=True, check=True, text=True).stdout.strip()
            running = subprocess.run(
                [*inside[:-1], "ls -d /proc/[0-9]* | wc -l"], capture_output=True, check=True, text=True
            )
            return count == "0" and int(running.stdout) <= 6

        wait_until(settled, 90, "orphans stay as zombies")
        control.shut_down(grace=1.0)
        assert process.wait(timeout=10) == 0


def test_who_listens_is_not_up_before_it_answers(tmp_path: Path) -> None:
    set_up = tmp_path / "set-up"
    with subprocess.Popen([sys.executable, "-c", SLOW_MAIN, str(tmp_path / "s"), str(set_up)]) as process:
        control = Control(tmp_path / "s", "the supervisor")
        control.wait()
        was_set_up = set_up.exists()
        control.shut_down(grace=1.0)
        assert process.wait(timeout=10) == 0
    assert was_set_up


def test_a_log_on_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen([sys.executable, "-c", MAIN, str(tmp_path / "s")], stderr=full) as process,
    ):
        control = Control(tmp_path / "s", "the supervisor")
        control.wait()
        control.start(_program(tmp_path, "exec sleep 60"))
        was_running = control.runs(["unit"])
        control.shut_down(grace=1.0)
        assert process.wait(timeout=10) == 0
    assert was_running


def test_nobody_else_may_speak_to_it(control: Control) -> None:
    assert control.path.stat().st_mode & 0o777 == 0o600
