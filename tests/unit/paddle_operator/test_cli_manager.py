"""`paddle-operator manager`, as people type it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from paddle_operator.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--controllers=tensor"],
            "there are cachebackend, paddlejob, pytorchjob, samplejob, sampleset, tfjob\n",
        ),
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
