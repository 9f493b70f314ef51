"""A strategic merge patch, as kubectl sends it for core resources: lists whose items have names are merged by them."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.schema import field_of, items_of, keys_of

DIRECTIVE, RETAIN, DELETE_FROM, ORDER = "$patch", "$retainKeys", "$deleteFromPrimitiveList/", "$setElementOrder/"


def patched(value: object, change: object, schema: Manifest) -> object:
    """Set what is there, remove what is null or said to go, and leave the rest alone."""
    if isinstance(change, list) and keys_of(schema):
        return _merged_list(value if isinstance(value, list) else [], change, schema)
    if not isinstance(change, dict):
        return change
    if change.get(DIRECTIVE) == "replace":
        return {name: part for name, part in change.items() if name != DIRECTIVE}
    base = dict(value) if isinstance(value, dict) else {}
    if (kept := change.get(RETAIN)) is not None:
        base = {name: part for name, part in base.items() if name in kept}
    for name, part in change.items():
        if name.startswith(DELETE_FROM):
            field = name.removeprefix(DELETE_FROM)
            base[field] = [item for item in base.get(field) or [] if item not in part]
        elif name.startswith("$"):
            continue
        elif part is None:
            base.pop(name, None)
        else:
            base[name] = patched(base.get(name), part, field_of(schema, name) or {})
    return base


def _merged_list(items: list[object], changes: list[object], schema: Manifest) -> list[object]:
    """Merge items by what names them: the first of their keys, as everywhere in Kubernetes."""
    key = keys_of(schema)[0]
    by_name = {_named(item, key): item for item in items}
    for change in changes:
        if isinstance(change, dict) and change.get(DIRECTIVE) == "replace":
            by_name = {}
        elif isinstance(change, dict) and change.get(DIRECTIVE) == "delete":
            by_name.pop(_named(change, key), None)
        else:
            by_name[_named(change, key)] = patched(by_name.get(_named(change, key)), change, items_of(schema))
    return list(by_name.values())


def _named(item: object, key: str) -> str:
    return str(item.get(key)) if isinstance(item, dict) else str(item)
