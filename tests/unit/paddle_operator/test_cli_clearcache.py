"""`paddle-operator clear-cache`: what it says when it is done, and when it cannot be."""

from pathlib import Path

from click.testing import CliRunner

from paddle_operator.cli.main import main
from paddle_operator.engines.juicefs import ledger
from paddle_operator.runtime.spool import Spool

TREE = "c843c158-7596-493e-9dea-59db11cb4cbc/raw/chunks/0/0"


def test_it_says_what_it_removed(tmp_path: Path) -> None:
    for directory in ("0", "1"):
        (tmp_path / directory / TREE).mkdir(parents=True)
        (tmp_path / directory / TREE / "1_0_5").write_text("12345")
    book = ledger.directory_in(tmp_path) / "one.ledger"
    book.parent.mkdir()
    book.touch()
    (tmp_path / "order.json").touch()
    words = [*(f"--cache-dirs={tmp_path / directory}" for directory in ("0", "1")), f"--spool={tmp_path}"]
    result = CliRunner().invoke(main, ["clear-cache", *words])
    assert (result.exit_code, result.output) == (0, "removed 2 blocks, 10 bytes\n")
    assert not book.exists()
    assert not (tmp_path / "order.json").exists()


def test_caches_of_a_server_that_is_there_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / TREE).mkdir(parents=True)
    (tmp_path / TREE / "1_0_5").write_text("12345")
    with Spool(tmp_path).held():
        result = CliRunner().invoke(main, ["clear-cache", f"--cache-dirs={tmp_path}", f"--spool={tmp_path}"])
    assert (result.exit_code, (tmp_path / TREE / "1_0_5").exists()) == (1, True)
    assert "another runtime server uses the spool" in result.output


def test_what_cannot_be_removed_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / ".identity").mkdir()
    result = CliRunner().invoke(main, ["clear-cache", f"--cache-dirs={tmp_path}", f"--spool={tmp_path}"])
    assert result.exit_code == 1
    assert "the cache cannot be emptied: " in result.output
