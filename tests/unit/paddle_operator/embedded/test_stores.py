"""Where data is when a Secret does not say."""

import base64
from pathlib import Path

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.embedded.stores import lacking

HERE = Path("/state/volumes/default/data")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(
            {},
            {
                "name": "default-data",
                "metaurl": "sqlite3:///state/volumes/default/data/meta.db",
                "storage": "file",
                "bucket": "/state/volumes/default/data/data/",
            },
            id="nothing",
        ),
        pytest.param(
            {"storage": "s3", "bucket": "https://x"},
            {"name": "default-data", "metaurl": "sqlite3:///state/volumes/default/data/meta.db"},
            id="its data",
        ),
        pytest.param({"name": "n", "metaurl": "redis://x", "storage": "s3", "bucket": "https://x"}, {}, id="all"),
        pytest.param({"name": "n", "metaurl": "redis://x", "storage": "s3"}, {}, id="half of where the data is"),
    ],
)
def test_what_a_secret_does_not_say_is_on_this_machine(given: dict[str, str], wanted: dict[str, str]) -> None:
    found = lacking(given, Key("default", "data"), HERE)
    assert {name: base64.b64decode(value).decode() for name, value in found.items()} == wanted
