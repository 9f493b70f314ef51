"""Judges an object by its structural schema, in the words of a real API server."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeGuard

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import rules
from paddle_operator.embedded.apiserver.refusals import Cause, Why
from paddle_operator.embedded.apiserver.schema import (
    ABSENT,
    INT_OR_STRING,
    canonical,
    counterparts,
    field_of,
    identity_of,
    is_set,
    items_of,
    keys_of,
)


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
# While one of these holds, rules might stumble over what the schema promises them.
BLOCKING = {Why.REQUIRED, Why.TOO_LONG, Why.TOO_MANY, Why.TYPE, Why.UNSUPPORTED}
UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and float(value).is_integer(),
    "number": is_number,
}


def faults(manifest: Manifest, schema: Manifest, before: Manifest | None = None) -> list[Cause]:
    """Tell all that is wrong with an object; what it had before and still has is not held against it."""
    found = list(_faults(manifest, ABSENT if before is None else before, schema, ""))
    if any(cause.why in BLOCKING for cause in found):
        return [*found, Cause(Why.INVALID, "<nil>", UNCHECKED, None)]
    return [*found, *rules.broken(manifest, schema, before)]


def _faults(value: object, old: object, schema: Manifest, path: str) -> Iterator[Cause]:
    if value == old and type(value) is type(old):
        return
    if value is None and schema.get("nullable"):
        return
    if not has_type(value, schema):
        wanted = schema.get("type", "string")
        yield Cause(Why.TYPE, path, f'{path} in body must be of type {wanted}: "{type_of(value)}"', type_of(value))
        return
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(f'"{allowed}"' for allowed in schema["enum"])
        yield Cause(Why.UNSUPPORTED, path, f"supported values: {supported}", value)
    if isinstance(value, dict):
        yield from _object_faults(value, old, schema, path)
    elif isinstance(value, list):
        yield from _list_faults(value, old, schema, path)
    elif isinstance(value, str):
        yield from _text_faults(value, schema, path)
    elif isinstance(value, int | float):
        yield from _number_faults(value, schema, path)


def has_type(value: object, schema: Manifest) -> bool:
    if schema.get(INT_OR_STRING):
        return isinstance(value, str) or TYPES["integer"](value)
    if schema.get("format") == "quantity":
        return isinstance(value, str) or is_number(value)
    return "type" not in schema or TYPES[schema["type"]](value)


def type_of(value: object) -> str:
    return next((name for name, is_so in TYPES.items() if is_so(value)), "null")


def _object_faults(value: Manifest, old: object, schema: Manifest, path: str) -> Iterator[Cause]:
    for name in schema.get("required", []):
        if name not in value:
            yield Cause(Why.REQUIRED, below(path, name))
    fewest, most = schema.get("minProperties", 0), schema.get("maxProperties")
    if len(value) < fewest:
        yield _limit(path, f"should have at least {fewest} properties", len(value))
    if most is not None and len(value) > most:
        yield Cause(Why.TOO_MANY, path, f"must have at most {most} items", len(value))
    for name, part in value.items():
        known = field_of(schema, name)
        if known:
            was = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
            yield from _faults(part, was, known, below(path, name))


def _list_faults(value: list[object], old: object, schema: Manifest, path: str) -> Iterator[Cause]:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < fewest:
        yield _limit(path, f"should have at least {fewest} items", len(value))
    if most is not None and len(value) > most:
        yield Cause(Why.TOO_MANY, path, f"must have at most {most} items", len(value))
        return
    keys, seen = keys_of(schema), set()
    before = counterparts(old, schema)
    for number, item in enumerate(value):
        inside = f"{path}[{number}]"
        identity = item if is_set(schema) else identity_of(item, schema, keys)
        if (keys or is_set(schema)) and canonical(identity) in seen:
            yield Cause(Why.DUPLICATE, inside, value=identity)
        seen.add(canonical(identity))
        was = before.get(canonical(identity), ABSENT)
        yield from _faults(item, was, items_of(schema), inside)


def _text_faults(value: str, schema: Manifest, path: str) -> Iterator[Cause]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < shortest:
        yield _limit(path, f"should be at least {shortest} chars long", value)
    if longest is not None and len(value) > longest:
        yield Cause(Why.TOO_LONG, path, f"may not be more than {longest} bytes")
    pattern = schema.get("pattern")
    if pattern is not None and not rules.matches(value, pattern):
        yield _limit(path, f"should match '{pattern}'", value)
    if schema.get("format") == "quantity" and not QUANTITY.fullmatch(value):
        yield Cause(Why.TYPE, path, f"quantities must match the regular expression '^{QUANTITY.pattern}$'", value)
    if schema.get("format") == "date-time" and not is_time(value):
        yield Cause(Why.TYPE, path, f'{path} in body must be of type date-time: "{value}"', value)


def is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _number_faults(value: float, schema: Manifest, path: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        yield _limit(path, f"should be greater than or equal to {least}", value)
    if most is not None and value > most:
        yield _limit(path, f"should be less than or equal to {most}", value)


def _limit(path: str, words: str, value: object) -> Cause:
    return Cause(Why.INVALID, path, f"{path} in body {words}", value)


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
