"""Makes an object fit its schema before it is judged: unknown fields go, defaults come."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.schema import field_of, items_of


def pruned(value: object, schema: Manifest, path: str, unknown: list[str]) -> object:
    """Give the value without the fields that nobody defined; their paths are added to `unknown`."""
    if isinstance(value, dict):
        kept = {}
        for name, part in value.items():
            known = field_of(schema, name)
            if known is None and ("properties" in schema or "additionalProperties" in schema or "type" in schema):
                unknown.append(f"{path}.{name}".removeprefix("."))
            else:
                kept[name] = pruned(part, known or {}, f"{path}.{name}", unknown)
        return kept
    if isinstance(value, list):
        inner = items_of(schema)
        return [pruned(part, inner, f"{path}[{number}]", unknown) for number, part in enumerate(value)]
    return value


def defaulted(value: object, schema: Manifest) -> object:
    """Give the value with the defaults of absent fields; null is absent where it may not be."""
    if isinstance(value, dict):
        return _defaulted_object(value, schema)
    if isinstance(value, list):
        inner = items_of(schema)
        return [defaulted(part, inner) for part in value]
    return value


def _defaulted_object(value: Manifest, schema: Manifest) -> Manifest:
    result: Manifest = {}
    for name, part in value.items():
        known = field_of(schema, name) or {}
        if part is None and "type" in known and not known.get("nullable"):
            continue
        result[name] = defaulted(part, known)
    for name, known in schema.get("properties", {}).items():
        if name not in result and "default" in known:
            result[name] = defaulted(known["default"], known)
    return result
