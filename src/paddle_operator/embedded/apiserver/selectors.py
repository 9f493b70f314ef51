"""Which objects are meant: label and field selectors, as they are written in a request."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from paddle_operator.api.manifest import Manifest, labels_of
from paddle_operator.embedded.apiserver import refusals

Test = Callable[[Manifest], bool]
KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
SET_TERM = re.compile(rf"(?P<key>{KEY})\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)")
EQUAL_TERM = re.compile(rf"(?P<key>{KEY})\s*(?P<how>==|=|!=)\s*(?P<value>[-A-Za-z0-9_.]*)")
BARE_TERM = re.compile(rf"(?P<absent>!?)\s*(?P<key>{KEY})")
COMMA_OUTSIDE = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True)
class Selector:
    """All tests hold, and the object is in this namespace; an empty one is everywhere."""

    namespace: str = ""
    tests: tuple[Test, ...] = ()

    def __call__(self, manifest: Manifest | None) -> bool:
        if manifest is None or self.namespace not in ("", manifest["metadata"].get("namespace", "")):
            return False
        return all(test(manifest) for test in self.tests)


def selector(namespace: str, labels: str, fields: str, selectable: frozenset[str]) -> Selector:
    label_tests = tuple(_label_test(term.strip()) for term in COMMA_OUTSIDE.split(labels) if term.strip())
    field_tests = tuple(_field_test(term.strip(), selectable) for term in fields.split(",") if term.strip())
    return Selector(namespace, label_tests + field_tests)


def _label_test(term: str) -> Test:
    if found := SET_TERM.fullmatch(term):
        values = {value.strip() for value in found["values"].split(",")}
        key, inside = found["key"], found["how"] == "in"
        return lambda manifest: (labels_of(manifest).get(key) in values) is inside
    if found := EQUAL_TERM.fullmatch(term):
        key, value, same = found["key"], found["value"], found["how"] != "!="
        return lambda manifest: (labels_of(manifest).get(key) == value) is same
    if found := BARE_TERM.fullmatch(term):
        key, present = found["key"], not found["absent"]
        return lambda manifest: (key in labels_of(manifest)) is present
    raise refusals.bad_request(f"unable to parse requirement: found '{term}', expected a label and what it must be")


def _field_test(term: str, selectable: frozenset[str]) -> Test:
    field, how, value = re.split(r"(==|!=|=)", term, maxsplit=1) if "=" in term else (term, "", "")
    if not how:
        raise refusals.bad_request(f"invalid field selector: can't understand '{term}'")
    if field not in selectable:
        raise refusals.bad_request(f"field label not supported: {field}")
    names, same = field.split("."), how != "!="
    return lambda manifest: (_text_at(manifest, names) == value) is same


def _text_at(manifest: Manifest, names: list[str]) -> str:
    found: object = manifest
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)
