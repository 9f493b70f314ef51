"""From msgspec's JSON schema to the structural schema of a CRD."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from paddle_operator.api.fields import Rule, doc, shape
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Record, Timestamp
from paddle_operator.api.schema import SchemaError, structural


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(Record, frozen=True):
    """An inner thing."""

    rules: ClassVar[tuple[Rule, ...]] = (Rule("self.size > 0", "size must be positive"),)

    size: Annotated[int, doc("How big.", minimum=1)]


SMALL = Annotated[str, shape("^a+$", "must be made of a", 9)]
INNER: Manifest = {
    "type": "object",
    "properties": {"size": {"type": "integer", "description": "How big.", "minimum": 1}},
    "required": ["size"],
    "x-kubernetes-validations": [{"rule": "self.size > 0", "message": "size must be positive"}],
}
SMALL_SCHEMA = {
    "type": "string",
    "maxLength": 9,
    "pattern": "^a+$",
    "x-kubernetes-validations": [{"rule": "self.matches(r'^a+$')", "message": "must be made of a"}],
}
CASES: dict[str, tuple[Any, Any, Manifest]] = {
    "a reference is put in its place": (Inner, msgspec.NODEFAULT, {**INNER, "description": "An inner thing."}),
    "a field's own description wins": (
        Annotated[Inner, doc("This one.")],
        msgspec.NODEFAULT,
        {**INNER, "description": "This one."},
    ),
    "rules of a field come after those of its struct": (
        Annotated[Inner, doc("This one.", Rule("true", "never said"))],
        msgspec.NODEFAULT,
        {
            **INNER,
            "description": "This one.",
            "x-kubernetes-validations": [
                *INNER["x-kubernetes-validations"],
                {"rule": "true", "message": "never said"},
            ],
        },
    ),
    "a default of None means that the field may be absent": (int | None, None, {"type": "integer"}),
    "None without such a default means null": (int | None, msgspec.NODEFAULT, {"type": "integer", "nullable": True}),
    "None beside another default means null": (int | None, 3, {"type": "integer", "nullable": True, "default": 3}),
    "an absent struct": (Inner | None, None, {**INNER, "description": "An inner thing."}),
    "a default that says something is kept": (int, 7, {"type": "integer", "default": 7}),
    "an empty string as default is left out": (str, "", {"type": "string"}),
    "zero as default is left out": (int, 0, {"type": "integer"}),
    "false as default is left out": (bool, False, {"type": "boolean"}),
    "an enum is strings": (Colour, msgspec.NODEFAULT, {"type": "string", "enum": ["blue", "red"]}),
    "an enum with a default": (Colour, Colour.RED, {"type": "string", "enum": ["blue", "red"], "default": "red"}),
    "a constant is an enum of one": (Literal["only"], msgspec.NODEFAULT, {"type": "string", "enum": ["only"]}),
    "a number or a string": (int | str, msgspec.NODEFAULT, {"x-kubernetes-int-or-string": True}),
    "any manifest is open": (
        Manifest,
        msgspec.NODEFAULT,
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    "anything at all is open": (Any, msgspec.NODEFAULT, {"x-kubernetes-preserve-unknown-fields": True}),
    "a map": (dict[str, int], msgspec.NODEFAULT, {"type": "object", "additionalProperties": {"type": "integer"}}),
    "a list": (tuple[Inner, ...], (), {"type": "array", "items": {**INNER, "description": "An inner thing."}}),
    "a time": (Timestamp | None, None, {"type": "string", "format": "date-time"}),
    "a shape": (SMALL, msgspec.NODEFAULT, SMALL_SCHEMA),
    "an absent shape with a description": (
        Annotated[SMALL | None, doc("Small.")],
        None,
        {**SMALL_SCHEMA, "description": "Small."},
    ),
    "a shape in a list": (tuple[SMALL, ...], (), {"type": "array", "items": SMALL_SCHEMA}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_type_becomes_its_structural_schema(case: str) -> None:
    kind, default, expected = CASES[case]
    struct = msgspec.defstruct("Outer", [("field", kind, default)])
    schema = structural(struct)
    assert schema["properties"] == {"field": expected}
    assert schema.get("required", []) == (["field"] if default is msgspec.NODEFAULT else [])


def test_what_a_crd_cannot_say_is_an_error_of_the_programmer() -> None:
    with pytest.raises(SchemaError, match="a CRD cannot say any of"):
        structural(msgspec.defstruct("Outer", [("field", int | bool)]))


def test_making_a_schema_changes_nothing_for_the_next() -> None:
    assert structural(Inner) == structural(Inner)
