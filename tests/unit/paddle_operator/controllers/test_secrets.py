"""What is read of Secrets, and what may be known of them."""

import base64

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.controllers.secrets import Read, Values, decoded, view_of
from support.samplesets import secret


def test_values_are_read_without_the_line_end_that_echo_leaves() -> None:
    assert decoded(secret())["metaurl"] == "redis://host/0"


@pytest.mark.parametrize(
    ("data", "values"),
    [
        pytest.param(None, {}, id="no data"),
        pytest.param({"a": "%%%"}, {"a": ""}, id="no base64"),
        pytest.param({"a": "YQ"}, {}, id="base64 cut off"),
        pytest.param({"a": None, "b": 5}, {}, id="no strings"),
        pytest.param({"a": base64.b64encode(b"\xff").decode()}, {"a": "\ufffd"}, id="no UTF-8"),
    ],
)
def test_what_cannot_be_read_counts_as_not_there(data: Manifest | None, values: Values) -> None:
    assert decoded({"data": data}) == values


def version(token: str = "token", **values: str) -> str:  # noqa: S107  # nobody's
    view = view_of(Read(0.0, values, ""), token)
    assert view is not None
    return view.version


def test_a_version_changes_with_the_values_and_cannot_be_guessed_without_the_token() -> None:
    assert version(a="one") == version(a="one") != version(a="two")
    assert version(a="one") != version("another", a="one")
    assert "one" not in version(a="one")


def test_a_key_without_a_value_is_not_there() -> None:
    view = view_of(Read(0.0, {"name": "imagenet", "bucket": ""}, ""), "token")
    assert view is not None
    assert view.keys == {"name"}
    assert view_of(None, "token") is None
