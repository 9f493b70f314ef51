"""`paddle-operator wait-for`: the first step of a job's pods."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from paddle_operator.cli.main import main
from paddle_operator.cli.waitfor import Surroundings, Wait, listeners, wait, wait_for_listeners, waits
from paddle_operator.desired.paddlejob.coordination import PROGRAM

SOURCES = Path(__file__).parents[3] / "src"


class Names:
    """Names that come to lead somewhere as time goes by, which it does only while somebody sleeps."""

    def __init__(self, known: dict[str, dict[float, set[str]]]) -> None:
        self.known = known
        self.time = 0.0
        self.asked: list[str] = []

    def resolve(self, name: str) -> frozenset[str]:
        self.asked.append(name)
        since = [moment for moment in self.known.get(name, {}) if moment <= self.time]
        return frozenset(self.known[name][max(since)]) if since else frozenset()

    def listens(self, name: str, port: int) -> bool:
        return bool(self.resolve(f"{name}:{port}"))

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    @property
    def world(self) -> Surroundings:
        return Surroundings(self.resolve, lambda: self.time, self.sleep, self.listens)


def test_a_name_a_count_and_a_pattern_are_read() -> None:
    assert list(waits(("ready=2", "a-{}.b=2", "single"), "me", frozenset({"10.0.0.1"}))) == [
        Wait("me", among=frozenset({"10.0.0.1"})),
        Wait("ready", 2),
        Wait("a-0.b"),
        Wait("a-1.b"),
        Wait("single"),
    ]


def test_names_with_certain_numbers_are_read() -> None:
    assert list(waits(("a-{}.b@0,3-4",), "", frozenset())) == [Wait("a-0.b"), Wait("a-3.b"), Wait("a-4.b")]
    assert list(listeners(("a-{}.b:80@1",))) == [("a-1.b", 80)]


@pytest.mark.parametrize("word", ["a-{}.b@", "a-{}.b@x", "a-{}.b@3,1", "a-{}.b@1-", "a-{}.b@1=2"])
def test_numbers_that_cannot_be_read_are_refused(word: str) -> None:
    with pytest.raises(click.BadParameter, match="does not end in numbers"):
        list(waits((word,), "", frozenset()))


def test_it_ends_when_all_are_there_and_asks_only_for_those_that_are_missing() -> None:
    names = Names({"a": {0: {"10.0.0.1"}}, "b": {3: {"10.0.0.2"}}})
    assert wait([Wait("a"), Wait("b")], 60, names.world) == []
    assert (names.time, names.asked) == (3, ["a", "b", "b", "b", "b"])


def test_so_many_addresses_are_waited_for() -> None:
    names = Names({"ready": {0: {"10.0.0.1"}, 2: {"10.0.0.1", "10.0.0.2"}}})
    assert wait([Wait("ready", 2)], 60, names.world) == []
    assert names.time == 2


def test_our_own_name_must_lead_to_ourselves_and_not_to_our_predecessor() -> None:
    names = Names({"me": {0: {"10.0.0.1"}, 4: {"10.0.0.2"}}})
    assert wait([Wait("me", among=frozenset({"10.0.0.2", "fd00::2"}))], 60, names.world) == []
    assert names.time == 4


def test_it_tells_what_it_waits_for_at_first_and_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    names = Names({"a": {65: {"10.0.0.1"}}})
    wait([Wait("a")], 100, names.world)
    assert capsys.readouterr().out == "waiting for a\n" * 3


def test_it_gives_up_when_its_time_is_over() -> None:
    names = Names({})
    assert wait([Wait("a")], 2.5, names.world) == [Wait("a")]
    assert names.time == 2.5


def test_giving_up_is_said_in_a_sentence() -> None:
    result = CliRunner().invoke(main, ["wait-for", "--timeout=0", *(f"x{number}.invalid" for number in range(7))])
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: gave up after 0 seconds: x0.invalid, x1.invalid, x2.invalid, x3.invalid, x4.invalid and 2 more cannot"
        " be found\n"
    )


def test_what_is_there_is_found() -> None:
    result = CliRunner().invoke(main, ["wait-for", "--own=127.0.0.1", "127.0.0.1"], env={"POD_IPS": "127.0.0.1,::1"})
    assert (result.exit_code, result.output) == (0, "all are there\n")


def test_a_count_that_is_no_number_is_refused() -> None:
    result = CliRunner().invoke(main, ["wait-for", "name=two"])
    assert result.exit_code == 2
    assert result.stderr.endswith("'name=two' does not end in a number\n")


def test_endpoints_are_read() -> None:
    assert list(listeners(("a-{}.b:36000=2", "c:1"))) == [("a-0.b", 36000), ("a-1.b", 36000), ("c", 1)]


def test_servers_are_waited_for_until_they_listen(capsys: pytest.CaptureFixture[str]) -> None:
    names = Names({"a:1": {0: {"yes"}}, "b:1": {4: {"yes"}}, "c:1": {2: {"yes"}}})
    assert wait_for_listeners([("a", 1), ("b", 1), ("c", 1)], 30, names.world)
    assert names.time == 4
    assert capsys.readouterr().out == "waiting for b to listen at 1\n"


def test_servers_that_do_not_listen_hold_nobody_up_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    names = Names({})
    assert not wait_for_listeners([("a", 1), ("b", 1)], 30, names.world)
    assert names.time == 30
    assert capsys.readouterr().out.endswith("a does not listen at 1 after 30 seconds: going on\n")


def test_a_server_that_listens_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = CliRunner().invoke(main, ["wait-for", f"127.0.0.1:{server.getsockname()[1]}"])
    assert (result.exit_code, result.output) == (0, "all are there\n")


@pytest.mark.parametrize("word", ["name:", "name:http", ":", "name:36000:"])
def test_an_endpoint_without_a_port_is_refused(word: str) -> None:
    result = CliRunner().invoke(main, ["wait-for", word])
    assert result.exit_code == 2
    assert f"{word!r} has no port" in result.stderr


def test_the_program_in_a_pod_is_this_one_and_ends_when_it_is_asked_to() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUNBUFFERED": "1"}
    argv = [sys.executable, *PROGRAM[1:], "--timeout=60", "nowhere.invalid"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting for nowhere.invalid\n"
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
