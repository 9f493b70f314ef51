"""One directory, one run at a time."""

from pathlib import Path

import pytest

from paddle_operator.embedded.statedir import StateDirectory, StateError, default_place


def test_two_runs_cannot_have_one_directory(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path / "state")
    with place.held(), pytest.raises(StateError, match="is in use by process"), place.held(patience=0.0):
        pass
    with place.held(patience=0.0):
        assert place.holder is not None
    assert place.holder is None


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
