"""`paddle-operator manager`, as people type it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from paddle_operator.cli.main import main
from paddle_operator.cli.manager import manager

# All flags of the original managers, as people and manifests write them.
ORIGINAL = (
    "--leader-elect --namespace=paddle-system",
    "--leader-elect=true",
    "--leader-elect=false",
    "-leader-elect -namespace paddle-system",
    "--metrics-bind-address=:8080 --health-probe-bind-address :8081",
    "-metrics-bind-address=127.0.0.1:8080",
    "--scheduling=volcano",
    "--etcd-server=etcd:2379",
    "--port-range=35000,65000",
    "--initImage=docker.io/library/alpine:3.10",
    "--development",
    "--development=true",
    "--zap-devel --zap-encoder=json --zap-log-level=debug --zap-stacktrace-level error --zap-time-encoding=iso8601",
    "--zap-devel=false",
)


@pytest.mark.parametrize("line", ORIGINAL)
def test_the_original_managers_flags_are_taken(line: str) -> None:
    result = CliRunner().invoke(main, ["manager", *line.split(), "--kubeconfig=/nonexistent"])
    assert (result.exit_code, "/nonexistent does not exist" in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize(
    ("word", "elects"),
    [
        ("--leader-elect", True),
        ("--leader-elect=true", True),
        ("-leader-elect=1", True),
        ("--leader-elect=T", True),
        ("--leader-elect=false", False),
        ("-leader-elect=0", False),
    ],
)
def test_a_flag_may_be_told_true_or_false(word: str, *, elects: bool) -> None:
    assert manager.make_context("manager", [word]).params["leader_elect"] is elects


def test_what_is_ignored_is_not_shown() -> None:
    shown = CliRunner().invoke(main, ["manager", "--help"]).stdout
    assert "--leader-elect" in shown
    assert "zap" not in shown
    assert "--development" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--controllers=tensor"],
            "there are cachebackend, paddlejob, pytorchjob, samplejob, sampleset, tfjob\n",
        ),
        (["--leader-elect=maybe"], "--leader-elect is true or false, and not 'maybe'\n"),
        (["--scheduling=kueue"], "'kueue' is not one of '', 'volcano', 'native'.\n"),
        (
            ["--port-range=65000-35000"],
            "'65000-35000' is no range of ports: write the first and the last, such as 35000,65000\n",
        ),
        (
            ["--port-range=35000,70000"],
            "'35000,70000' is no range of ports: write the first and the last, such as 35000,65000\n",
        ),
        (["--metrics-bind-address=8080"], "'8080' is no address: write :8080 or 127.0.0.1:8080, or 0 for none\n"),
        (
            ["--kubeconfig=/nonexistent"],
            "/nonexistent does not exist. Name a kubeconfig with --kubeconfig or KUBECONFIG.\n",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["manager", *arguments])
    assert result.exit_code in (1, 2)
    assert result.stderr.endswith(message)


def test_an_address_in_use_is_said(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"x"}}],'
        '"clusters":[{"name":"x","cluster":{"server":"http://127.0.0.1:1"}}]}'
    )
    result = CliRunner().invoke(main, ["manager", f"--kubeconfig={kubeconfig}", "--metrics-bind-address=192.0.2.1:1"])
    assert result.exit_code == 1
    assert "192.0.2.1" in result.stderr
    assert "Traceback" not in result.output
