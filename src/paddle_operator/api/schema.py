"""msgspec's JSON schema of a struct made into the structural OpenAPI schema that a CRD wants."""

from collections.abc import Iterator

import msgspec
from msgspec import inspect

from paddle_operator.api.fields import RULES, checked
from paddle_operator.api.manifest import Manifest

OPEN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
REFERENCE = "#/$defs/"


class SchemaError(Exception):
    """A type that has no structural schema."""


def structural(struct: type[msgspec.Struct]) -> Manifest:
    """Give the schema with every reference put in its place; a struct's `rules` go with it."""
    made = msgspec.json.schema(struct)
    definitions: Manifest = made.pop("$defs")
    for found in _structs(inspect.type_info(struct)):
        definitions[found.__name__] |= checked(*getattr(found, "rules", ()))
    return _converted(made, definitions)


def _structs(info: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    match info:
        case inspect.StructType():
            yield info.cls
            inner = [field.type for field in info.fields]
        case inspect.UnionType():
            inner = list(info.types)
        case inspect.VarTupleType():
            inner = [info.item_type]
        case inspect.DictType():
            inner = [info.value_type]
        case inspect.Metadata():
            inner = [info.type]
        case _:
            inner = []
    for part in inner:
        yield from _structs(part)


def _converted(node: Manifest, definitions: Manifest) -> Manifest:
    node = _inlined(node, definitions)
    node.pop("title", None)
    if not node.get("required", True):
        del node["required"]
    if not node.get("default", True):  # what means nothing is not written into every object
        del node["default"]
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if "enum" in node:
        node.setdefault("type", "string")
    if _is_open(node):
        node[OPEN] = True
    return _with_parts(node, definitions)


def _inlined(node: Manifest, definitions: Manifest) -> Manifest:
    """Put what a reference names, or the one type beside null, under what is said of it here."""
    node = dict(node)
    if name := node.pop("$ref", ""):
        return _inlined(_under(node, definitions[name.removeprefix(REFERENCE)]), definitions)
    variants = node.pop("anyOf", [])
    if not variants:
        return node
    kinds = [variant for variant in variants if variant != {"type": "null"}]
    if len(kinds) < len(variants) and node.get("default", "none") is not None:
        node["nullable"] = True  # a default of None means absent, which is not null
    if len(kinds) == 1:
        return _inlined(_under(node, kinds[0]), definitions)
    if sorted(kind.get("type", "") for kind in kinds) != ["integer", "string"]:
        raise SchemaError(f"a CRD cannot say any of {kinds}: only a type or null, or a number or a string")
    return {**node, INT_OR_STRING: True}


def _under(upper: Manifest, lower: Manifest) -> Manifest:
    rules = [*lower.get(RULES, []), *upper.get(RULES, [])]
    return {**lower, **upper, **({RULES: rules} if rules else {})}


def _is_open(node: Manifest) -> bool:
    if "type" not in node:
        return INT_OR_STRING not in node
    return node["type"] == "object" and "properties" not in node and "additionalProperties" not in node


def _with_parts(node: Manifest, definitions: Manifest) -> Manifest:
    if "properties" in node:
        node["properties"] = {name: _converted(part, definitions) for name, part in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in node:
            node[key] = _converted(node[key], definitions)
    return node
