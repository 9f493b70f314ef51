"""Running commands: what they print is bounded and redacted, and they end when they must."""

import asyncio
import os
import pty
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import command
from paddle_operator.engines.juicefs.command import Finished, redacted
from paddle_operator.engines.juicefs.flags import Invocation
from support.eventually import eventually


def python(code: str, **secrets: str) -> Invocation:
    return Invocation((sys.executable, "-c", code), secrets, {"DEFAULT": "there", "HOME": "not taken"})


async def test_what_is_printed_comes_line_by_line_without_secrets() -> None:
    code = "from os import environ as e; print('one'); print('key', e['KEY'], 'a%2Fb'); print('x' * 9000, e['DEFAULT'])"
    heard: list[str] = []
    ended = await command.run(python(code, KEY="a/b"), heard.append)
    assert (ended.code, heard[0], heard[1]) == (0, "one", "key *** ***")
    assert len(heard[2]) == command.LONGEST_LINE
    assert ended.lines == tuple(heard)


async def test_a_secret_at_the_end_of_a_long_line_is_not_cut_in_two() -> None:
    code = f"import os; print('x' * {command.LONGEST_LINE - 3} + os.environ['KEY'])"
    assert "PLAN" not in (await command.run(python(code, KEY="PLANTED"))).lines[0]


async def test_progress_that_returns_to_the_line_s_start_is_lines_too() -> None:
    assert (await command.run(python("print('1%\\r2%\\r3%')"))).lines == ("1%", "2%", "3%")


async def test_an_endless_line_costs_no_memory() -> None:
    ended = await command.run(python("import sys\nfor _ in range(300): sys.stdout.write('x' * 10000)\nprint('\\nend')"))
    assert [len(line) for line in ended.lines] == [command.LONGEST_LINE, 3]


async def test_a_command_that_is_cancelled_ends_with_all_that_it_started() -> None:
    code = "import subprocess; child = subprocess.Popen(['sleep', '60']); print(child.pid, flush=True); child.wait()"
    heard: list[str] = []
    running = asyncio.create_task(command.run(python(code), heard.append))
    await eventually(lambda: heard)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: not is_running(int(heard[0])))


async def test_a_command_that_ignores_the_request_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "GRACE", 0.1)
    code = "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(60)"
    heard: list[str] = []
    running = asyncio.create_task(command.run(python(code), heard.append))
    await eventually(lambda: heard)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(int(heard[0]))


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 gone at any moment
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("2026/11/16 05:44:12.3 juicefs[5055] <FATAL>: no such bucket", "goodbye"), "no such bucket"),
        (("2026/11/16 05:44:12.3 juicefs[5055] <ERROR>: x [Sync@sync.go:17]",), "x"),
        (("last words",), "last words"),
        ((), "it ended with 3 and said nothing"),
    ],
)
def test_a_complaint_is_what_went_wrong_without_times_and_places(lines: tuple[str, ...], complaint: str) -> None:
    assert Finished(3, lines).complaint == complaint


def test_a_secret_within_another_is_hidden_with_it() -> None:
    assert redacted("abcdef abc xy", ["abc", "abcdef", "", "xy"]) == "*** *** xy"


async def test_a_default_gives_way_to_what_is_set_already() -> None:
    code = "from os import environ as e; print(e['DEFAULT'], e['HOME'])"
    assert (await command.run(python(code))).lines == (f"there {os.environ['HOME']}",)


async def test_on_a_terminal_a_program_shows_how_far_it_is_and_its_last_words_are_kept() -> None:
    code = """
import sys
assert sys.stdout.isatty() and sys.stderr.isatty()
print("<ERROR>: a reason", file=sys.stderr)
for percent in range(99):
    print(f"[+++ ] 10 {percent}% 1/s", end="\\r", flush=True)
print("the end")
sys.exit(3)
"""
    heard: list[str] = []
    ended = await command.run(replace(python(code), on_terminal=True), heard.append)
    assert (ended.code, ended.lines) == (3, ("<ERROR>: a reason", "the end"))
    assert heard[1:3] == ["[+++ ] 10 0% 1/s", "[+++ ] 10 1% 1/s"]


async def test_where_there_are_no_terminals_a_pipe_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> tuple[int, int]:
        raise OSError

    monkeypatch.setattr(pty, "openpty", none)
    ended = await command.run(replace(python("import sys; print(sys.stdout.isatty())"), on_terminal=True))
    assert ended.lines == ("False",)


async def test_a_program_that_is_not_there_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    before = descriptors()
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            await command.run(python(""))
    await eventually(lambda: descriptors() <= before + 1)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
