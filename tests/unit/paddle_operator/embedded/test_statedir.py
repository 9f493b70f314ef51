"""One directory, one run at a time."""

import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest

from paddle_operator.embedded import ending
from paddle_operator.embedded.statedir import StateDirectory, StateError, default_place


def test_two_runs_cannot_have_one_directory(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path / "state")
    with place.held(), pytest.raises(StateError, match="is in use by process"), place.held(patience=0.0):
        pass
    with place.held(patience=0.0):
        assert place.holder is not None
    assert place.holder is None


def test_who_waited_for_a_directory_that_was_removed_meanwhile_holds_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, other = StateDirectory(tmp_path / "state"), contextlib.ExitStack()
    other.enter_context(place.held())

    def removed(_: float) -> None:
        shutil.rmtree(place.root)
        other.close()

    monkeypatch.setattr(time, "sleep", removed)
    with place.held():
        assert place.holder == os.getpid()
        with pytest.raises(StateError, match="is in use"), place.held(patience=-1.0):
            pass


def test_what_is_in_memory_goes_also_when_the_directory_is_gone_already(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path / "state")
    place.make()
    (place.memory / "cache").mkdir()
    shutil.rmtree(place.root)
    ending.remove(place)
    assert not place.memory.exists()


def test_nothing_is_left_of_a_directory_that_is_removed(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path / "state")
    place.make()
    place.kubeconfig.touch()
    ending.remove(place)
    assert not place.root.exists()
    assert not place.memory.exists()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        pytest.param({"PADDLE_OPERATOR_STATE": "/x", "HOME": "/h"}, "/x", id="as it is named"),
        pytest.param({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/paddle-operator", id="where such things are"),
        pytest.param({"HOME": "/h"}, "/h/.local/state/paddle-operator", id="in the home directory"),
    ],
)
def test_the_directory_is_where_people_look_for_it(environment: dict[str, str], wanted: str) -> None:
    assert default_place(environment) == Path(wanted)
