"""The command: errors in one sentence with what to do, no traceback for what a person can mend."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from localkube import clusters, preflight
from localkube.cli.main import localkube as cli
from localkube.cli.main import main
from localkube.paths import Home

NOBODY = 65534
DOCUMENT = Path(__file__).parents[3] / "docs/localkube.md"


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path: sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="lk-", dir="/var/tmp") as place:
        monkeypatch.setenv("LOCALKUBE_HOME", place)
        monkeypatch.setenv("LOCALKUBE_CACHE", f"{place}/cache")
        yield Path(place)


@pytest.fixture
def localkube(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give the command, run in this process, with nothing but an empty home."""
    assert home.is_dir()

    def run(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["localkube", *words])
        try:
            main()
        except SystemExit as ended:
            return Done(int(ended.code or 0), *capsys.readouterr())
        return Done(0, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["status"], "there is no cluster localkube; none is up"),
        (["kubeconfig", "--name", "x"], "there is no cluster x; none is up"),
        (["node", "kill", "node-1", "--name", "x"], "there is no cluster x; none is up"),
        (["up", "--name", "Bad_Name"], "'Bad_Name' cannot name a cluster: use at most 32 lower-case letters"),
        (["up", "--nodes", "99"], "a cluster has 1 to 32 nodes, not 99"),
        (["up", "--disk", "1G"], "a node's disk of 1G is too small: images need at least 2G"),
        (["up", "--disk", "lots"], "'lots' is not a size: write 500M or 1.5G"),
        (["load-image", "nothing:1", "--name", "x"], "there is no cluster x; none is up"),
        (["logs", "etcd", "--name", "../x"], "'../x' cannot name a cluster"),
    ],
)
def test_what_a_person_can_mend_is_one_sentence(localkube: Run, words: list[str], sentence: str) -> None:
    done = localkube(*words)
    assert done.code == 1
    assert done.stderr.startswith(f"localkube: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["link", "node-1", "--cut", "--restore"], "exclude each other"),
        (["node", "explode", "node-1"], "'explode' is not one of"),
        (["build-image", "-t", "a:1", "--build-arg", "novalue", "."], "is not NAME=VALUE"),
        (["up", "--nodes", "many"], "'many' is not a valid integer"),
        (["logs", "etcd", "--tail", "-1"], "-1 is not in the range x>=0"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_a_wrong_call_is_explained_and_ends_with_2(localkube: Run, words: list[str], sentence: str) -> None:
    done = localkube(*words)
    assert done.code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_list_of_nothing_and_a_down_of_nothing_are_no_errors(localkube: Run) -> None:
    assert localkube("list").code == 0
    assert "There was no cluster x." in localkube("down", "--name", "x").stderr


def test_a_half_made_cluster_is_listed_as_such(home: Path, localkube: Run) -> None:
    (home / "broken").mkdir()
    listed = localkube("list")
    assert listed.code == 0
    assert listed.stdout.splitlines()[1].split() == ["broken", "?", "half", "made", "?"]


def test_a_cluster_that_is_not_understood_is_left_alone_until_one_decides(
    home: Path, localkube: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "check", lambda *_, **__: pytest.fail("it begins"))
    (home / "strange").mkdir()
    (home / "strange/cluster.json").write_text('{"from": "the future"}')
    done = localkube("up", "--name", "strange")
    assert done.code == 1
    assert done.stderr.startswith(
        "localkube: cluster strange is from another version of localkube, or its cluster.json"
    )
    assert done.stderr.endswith("`localkube down --name strange` removes it, `up --replace` makes it anew\n")
    assert (home / "strange/cluster.json").read_text() == '{"from": "the future"}'


@pytest.mark.parametrize("words", [["up"], ["up", "--replace"], ["down"]])
def test_a_directory_that_is_no_cluster_is_left_alone_and_told(
    home: Path, localkube: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(preflight, "check", lambda *_, **__: pytest.fail("it begins"))
    (home / "photos").mkdir()
    (home / "photos/cat.jpeg").touch()
    done = localkube(*words, "--name", "photos")
    remedy = "choose another --name, or another directory in LOCALKUBE_HOME"
    assert (done.code, done.stderr) == (1, f"localkube: {home}/photos is not of localkube: {remedy}\n")
    assert (home / "photos/cat.jpeg").exists()


def test_all_clusters_go_and_what_else_lies_beside_them_stays(home: Path, localkube: Run) -> None:
    for name in ("photos", "begun", "whole"):
        (home / name).mkdir()
    (home / "photos/cat.jpeg").touch()
    (home / "begun/cluster.json.tmp").touch()
    (home / "whole/cluster.json").write_text("{}")
    (home / "notes").touch()
    assert localkube("down", "--all").code == 0
    assert sorted(entry.name for entry in home.iterdir()) == [".begun.lock", ".whole.lock", "notes", "photos"]
    assert localkube("down", "--name", "notes").code == 1
    assert (home / "notes").is_file()


def test_a_down_that_was_killed_while_it_removed_files_leaves_no_half_of_a_cluster(
    home: Path, localkube: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> None:
        assert path.is_dir()
        raise KeyboardInterrupt

    (home / "half").mkdir()
    (home / "half/cluster.json").write_text("{}")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        assert localkube("down", "--name", "half").code == 130
    assert not (home / "half").exists()
    assert "half made" in localkube("list").stdout
    assert "There was no cluster" not in localkube("down", "--all").stderr
    assert [entry.name for entry in home.iterdir()] == [".half.lock"]


@pytest.mark.parametrize("command", cli.commands.values(), ids=list(cli.commands))
def test_every_command_and_option_is_in_the_documents(command: click.Command) -> None:
    words = set(re.findall(r"[\w-]+", DOCUMENT.read_text()))
    spellings = [word for option in command.params if isinstance(option, click.Option) for word in option.opts]
    assert [word for word in (command.name, *spellings) if word not in words] == []


def test_the_package_is_a_program(home: Path) -> None:
    argv = [sys.executable, "-m", "localkube", "status"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("localkube: there is no cluster localkube; none is up")
    assert list(home.iterdir()) == []


def _as_nobody(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    monkeypatch.setattr(Home, "clusters", refused)
    monkeypatch.setattr(clusters, "find", refused)
    monkeypatch.setattr(sys, "argv", ["localkube", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("words", "code"), [(["prepare"], 3), (["up"], 1), (["status"], 1), (["list"], 1), (["down", "--all"], 1)]
)
def test_who_is_not_root_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    assert _as_nobody(monkeypatch, *words) == code
    assert capsys.readouterr().err == "localkube: localkube needs root: run it with sudo\n"
