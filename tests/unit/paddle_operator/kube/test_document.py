"""What is nested too deep for Python is read without its depths; all else as it is."""

import json

import pytest

from paddle_operator.kube.document import DEEPEST, parse, shallow


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": [1, {"b": null}], "c": "[{\\"}]\\\\"}',
        b'["\\\\", "]", "\\"[", []]',
        b"[" * DEEPEST + b"]" * DEEPEST,
        '{"\u2028": "\x85"}'.encode(),
    ],
    ids=["brackets in strings", "escapes", "just deep enough", "other alphabets"],
)
def test_what_is_not_too_deep_stays_as_it_is(text: bytes) -> None:
    assert shallow(text) == text
    assert parse(text) == json.loads(text)


def test_what_is_too_deep_is_nothing_and_what_is_beside_it_stays() -> None:
    deep = b'{"x":[' * 5000 + b'"]"' + b"]}" * 5000
    items = parse(b'{"items": [{"name": "a"}, {"name": "b", "spec": %s, "more": 1}, {"name": "c"}]}' % deep)
    assert isinstance(items, dict)
    first, second, third = items["items"]
    assert (first, third, second["name"], second["more"]) == ({"name": "a"}, {"name": "c"}, "b", 1)
    levels, inner = 0, second["spec"]
    while inner is not None:
        levels, inner = levels + 1, inner["x"] if isinstance(inner, dict) else inner[0]
    assert levels == DEEPEST - 3


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 5000, b"]" * 5000, b"[" * 5000 + b"}" * 5000 + b"x", b"\xff"])
def test_what_is_no_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 whichever it is
        parse(text)
