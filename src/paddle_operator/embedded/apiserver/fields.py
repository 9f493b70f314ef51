"""The fields of an object as paths, and how objects are merged and thinned by them."""

from collections.abc import Iterable, Mapping

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.schema import (
    ANYTHING,
    canonical,
    field_of,
    identity_of,
    is_atomic,
    is_set,
    items_of,
    keys_of,
)

# Steps as they are written in managedFields: f:NAME a field, k:{…} an item by its keys, v:… an item by its value.
Path = tuple[str, ...]
PRESENT = "."


def leaves(value: object, schema: Manifest, path: Path = ()) -> dict[Path, object]:
    """Give every field that is set as a whole, with its value; an item of a list is one itself, by being there."""
    if isinstance(value, dict) and value and not is_atomic(schema):
        found: dict[Path, object] = {}
        for name, part in value.items():
            found |= leaves(part, field_of(schema, name) or ANYTHING, (*path, f"f:{name}"))
        return found
    if isinstance(value, list) and value and (keys_of(schema) or is_set(schema)):
        found = {}
        for item in value:
            inside = (*path, step_of(item, schema))
            found[inside] = PRESENT
            if keys_of(schema) and isinstance(item, dict) and not is_atomic(items_of(schema)):
                found |= leaves(item, items_of(schema), inside)
            else:
                found[inside] = item
        return found
    return {path: value}


def step_of(item: object, schema: Manifest) -> str:
    keys = keys_of(schema)
    return f"k:{canonical(identity_of(item, schema, keys))}" if keys else f"v:{canonical(item)}"


def merged(live: object, applied: object, schema: Manifest) -> object:
    """Put what is applied over what is there; fields and items that are not mentioned stay."""
    if is_atomic(schema):
        return applied
    if isinstance(live, dict) and isinstance(applied, dict):
        over = {
            name: merged(live[name], part, field_of(schema, name) or ANYTHING) if name in live else part
            for name, part in applied.items()
        }
        return {**live, **over}
    if isinstance(live, list) and isinstance(applied, list) and (keys_of(schema) or is_set(schema)):
        return _merged_items(live, applied, schema)
    return applied


def _merged_items(live: list[object], applied: list[object], schema: Manifest) -> list[object]:
    """Keep both orders; where they say nothing of each other, what was there comes first."""
    present = {step_of(item, schema): item for item in live}
    wanted = {step_of(item, schema): item for item in applied}
    left, result = list(present), []
    for step, item in wanted.items():
        while left and (left[0] not in wanted or left[0] == step):
            first = left.pop(0)
            if first == step:
                break
            result.append(present[first])
        result.append(merged(present[step], item, items_of(schema)) if step in present else item)
        left = [other for other in left if other != step]
    return [*result, *(present[step] for step in left)]


Tree = dict[str, "Tree"]


def tree_of(paths: Iterable[Path]) -> Tree:
    """Write paths as they are written in managedFields: nested, with a dot for what is set itself."""
    tree: Tree = {}
    chosen = set(paths)
    inner = {path[:depth] for path in chosen for depth in range(1, len(path))}
    for path in sorted(chosen):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        if path in inner:
            node[PRESENT] = {}
    return tree


def paths_of(tree: Tree, path: Path = ()) -> set[Path]:
    if not tree:
        return {path} if path else set()
    found: set[Path] = {path} if PRESENT in tree and path else set()
    for step, inner in tree.items():
        if step != PRESENT:
            found |= paths_of(inner, (*path, step))
    return found


def without(value: object, schema: Manifest, tree: Tree) -> object:
    """Give the value without these fields and without what is empty for want of them; None if nothing is left."""
    if isinstance(value, dict):
        kept: dict[str, object] = {}
        for name, part in value.items():
            rest = _rest(part, field_of(schema, name) or ANYTHING, tree.get(f"f:{name}"))
            if rest is not None or part is None:
                kept[name] = rest
        return kept or None
    if isinstance(value, list):
        rests = [_rest(item, items_of(schema), tree.get(step_of(item, schema))) for item in value]
        return [rest for rest in rests if rest is not None] or None
    return value


def _rest(part: object, schema: Manifest, tree: Tree | None) -> object:
    if tree is None:
        return part
    return None if not tree or PRESENT in tree else without(part, schema, tree)


def spoken(path: Path) -> str:
    """Write a path as people read it: .spec.containers[name="a"].image."""
    words = []
    for step in path:
        mark, rest = step[:2], step[2:]
        if mark == "f:":
            words.append(f".{rest}")
        elif mark == "k:":
            keys: Mapping[str, object] = msgspec.json.decode(rest)
            words.append(f"[{','.join(f'{name}={canonical(value)}' for name, value in keys.items())}]")
        else:
            words.append(f"[={rest}]")
    return "".join(words)
