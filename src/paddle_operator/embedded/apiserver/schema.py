"""Reads a structural schema: what a field's own schema is, and how the items of a list are told apart."""

from collections.abc import Sequence

import msgspec

from paddle_operator.api.manifest import Manifest

OPEN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"

# What an object did not have before, which is not the same as null.
ABSENT = object()
ANYTHING: Manifest = {OPEN: True}
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TIME = {"type": "string", "format": "date-time"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
METADATA: Manifest = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"), TEXT),
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "generation": NUMBER,
        "deletionGracePeriodSeconds": NUMBER,
        "labels": TEXTS,
        "annotations": TEXTS,
        "finalizers": {"type": "array", "items": TEXT, LIST_TYPE: "set"},
        "ownerReferences": {
            "type": "array",
            LIST_TYPE: "map",
            LIST_KEYS: ["uid"],
            "items": {
                "type": "object",
                "required": ["apiVersion", "kind", "name", "uid"],
                "properties": {
                    **dict.fromkeys(("apiVersion", "kind", "name", "uid"), TEXT),
                    "controller": FLAG,
                    "blockOwnerDeletion": FLAG,
                },
                MAP_TYPE: "atomic",
            },
        },
        "managedFields": {"type": "array", LIST_TYPE: "atomic", "items": {"type": "object", OPEN: True}},
    },
}


def whole(schema: Manifest) -> Manifest:
    """Give the schema of an object with what every object has."""
    properties = {**schema.get("properties", {}), "apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
    return {**schema, "type": "object", "properties": properties}


def field_of(schema: Manifest, name: str) -> Manifest | None:
    """Give the schema of a field; None for one that the schema does not know."""
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    if isinstance(found, dict):
        return found
    return ANYTHING if found or schema.get(OPEN) else None


def items_of(schema: Manifest) -> Manifest:
    found: Manifest = schema.get("items") or ANYTHING
    return found


def is_atomic(schema: Manifest) -> bool:
    """Tell whether a value is set as a whole: an open list is, since nothing says what its items are known by."""
    return schema.get(MAP_TYPE) == "atomic" or schema.get(LIST_TYPE) == "atomic"


def is_set(schema: Manifest) -> bool:
    return schema.get(LIST_TYPE) == "set"


def keys_of(schema: Manifest) -> Sequence[str]:
    """Name the fields by which the items of a list are told apart, if they are."""
    keys: Sequence[str] = schema.get(LIST_KEYS, ()) if schema.get(LIST_TYPE) == "map" else ()
    return keys


def identity_of(item: object, schema: Manifest, keys: Sequence[str]) -> Manifest:
    """Give the values of an item's keys; one that is left out has its default."""
    properties = items_of(schema).get("properties", {})
    present = item if isinstance(item, dict) else {}
    named = {key: present.get(key, properties.get(key, {}).get("default")) for key in keys}
    return {key: value for key, value in named.items() if value is not None}


def counterparts(old: object, schema: Manifest) -> dict[str, object]:
    """Find the items of an old list by their keys; without keys nobody can tell which was which."""
    keys = keys_of(schema)
    if not keys or not isinstance(old, list):
        return {}
    return {canonical(identity_of(item, schema, keys)): item for item in old}


def canonical(value: object) -> str:
    """Write a value in the one way that makes equal values equal texts."""
    return msgspec.json.encode(value, order="sorted").decode()
