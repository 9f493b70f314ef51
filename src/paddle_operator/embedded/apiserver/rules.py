"""Judges an object by the CEL rules of its schema, also against what it was before."""

import functools
import re
from collections.abc import Iterator

from cel_expr_python import cel

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.refusals import UNPRINTED, Cause, Why
from paddle_operator.embedded.apiserver.schema import (
    ABSENT,
    RULES,
    canonical,
    counterparts,
    field_of,
    identity_of,
    items_of,
    keys_of,
)

MENTIONS_OLD = re.compile(r"\boldSelf\b")


class RuleError(Exception):
    """A rule that cannot be read: the definition is wrong, not the object."""


@functools.cache
def environment() -> cel.Env:
    return cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})


@functools.cache
def compiled(expression: str) -> cel.Expression:
    try:
        return environment().compile(expression)
    except (RuntimeError, ValueError) as error:
        raise RuleError(f"the rule {expression!r} cannot be read: {error}") from error


def matches(text: str, pattern: str) -> bool:
    """Match as the rules do: the same dialect as on a real server, in linear time whatever the text."""
    result = compiled("self.matches(oldSelf)").eval(data={"self": text, "oldSelf": pattern})
    return bool(result.type() == cel.Type.BOOL and result.value() is True)


def check(schema: Manifest) -> None:
    """Read all rules of a schema at once, so that a wrong one is told when it is given and not when it is needed."""
    for rule in schema.get(RULES, []):
        compiled(rule["rule"])
    parts = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in parts:
        if isinstance(part, dict):
            check(part)


def broken(manifest: Manifest, schema: Manifest, before: Manifest | None) -> Iterator[Cause]:
    """Tell which rules the object breaks; of its metadata a rule sees the name only, but any change of it counts."""
    value, old = _visible(manifest), ABSENT if before is None else _visible(before)
    for rule in schema.get(RULES, []):
        yield from _judged(value, old, rule, "", changed=manifest != before)
    yield from _broken_inside(value, old, schema, "")


def _visible(manifest: Manifest) -> Manifest:
    named = {name: manifest["metadata"][name] for name in ("name", "generateName") if name in manifest["metadata"]}
    return {**manifest, "metadata": named}


def _broken(value: object, old: object, schema: Manifest, path: str) -> Iterator[Cause]:
    for rule in schema.get(RULES, []):
        yield from _judged(value, old, rule, path, changed=old is ABSENT or old != value)
    yield from _broken_inside(value, old, schema, path)


def _broken_inside(value: object, old: object, schema: Manifest, path: str) -> Iterator[Cause]:
    if isinstance(value, dict):
        for name, part in value.items():
            known = field_of(schema, name)
            if known:
                was = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
                yield from _broken(part, was, known, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list):
        before = counterparts(old, schema)
        for number, part in enumerate(value):
            was = before.get(canonical(identity_of(part, schema, keys_of(schema))), ABSENT)
            yield from _broken(part, was, items_of(schema), f"{path}[{number}]")


def _judged(value: object, old: object, rule: Manifest, path: str, *, changed: bool) -> Iterator[Cause]:
    if MENTIONS_OLD.search(rule["rule"]):
        if old is ABSENT:
            return
        known = {"self": value, "oldSelf": old}
    elif not changed:
        return  # what was taken once is not refused later for what nobody changed
    else:
        known = {"self": value}
    result = compiled(rule["rule"]).eval(data=known)
    if result.type() == cel.Type.BOOL and result.value() is True:
        return
    words = rule.get("message") or f"failed rule: {rule['rule']}"
    if result.type() == cel.Type.ERROR:
        words = f"rule evaluation error: {result.value()}: {rule['rule']}"
    yield Cause(Why.INVALID, path or "<nil>", words, shown(value))


def shown(value: object) -> object:
    """Leave out what is too large to be repeated in a message."""
    return UNPRINTED if isinstance(value, dict | list) else value
