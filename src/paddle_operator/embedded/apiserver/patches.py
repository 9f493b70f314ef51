"""Changes an object by a merge patch or by a list of JSON patch operations."""

import copy
from typing import Any

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import refusals


def merge_patched(value: object, change: object) -> object:
    """Set what is there, remove what is null, and leave the rest alone."""
    if not isinstance(change, dict):
        return change
    base = value if isinstance(value, dict) else {}
    over = {name: merge_patched(base.get(name), part) for name, part in change.items() if part is not None}
    return {name: part for name, part in {**base, **over}.items() if change.get(name, part) is not None}


def json_patched(value: Manifest, operations: list[Manifest]) -> Manifest:
    """Carry out the operations one by one; one that cannot be carried out refuses them all."""
    document: dict[str, Any] = {"": copy.deepcopy(value)}
    for operation in operations:
        try:
            _operate(document, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise refusals.unfit(f"the patch {operation!r} does not fit the object: {error}") from error
    if not isinstance(document[""], dict):
        raise refusals.unfit("the patch leaves no object")
    return document[""]


def _operate(document: Manifest, operation: Manifest) -> None:
    path = _steps(operation["path"])
    match operation["op"]:
        case "add":
            _add(document, path, copy.deepcopy(operation["value"]))
        case "remove":
            _remove(document, path)
        case "replace":
            _remove(document, path)
            _add(document, path, copy.deepcopy(operation["value"]))
        case "move":
            _add(document, path, _remove(document, _steps(operation["from"])))
        case "copy":
            _add(document, path, copy.deepcopy(_get(document, _steps(operation["from"]))))
        case "test":
            if _get(document, path) != operation["value"]:
                raise ValueError("the test failed")
        case unknown:
            raise ValueError(f"there is no operation {unknown!r}")


def _steps(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise ValueError("a path begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def _get(document: Any, steps: list[str]) -> Any:  # noqa: ANN401 any JSON
    for step in steps:
        document = document[_index(document, step)] if isinstance(document, list) else document[step]
    return document


def _index(items: list[Any], step: str) -> int:
    if not step.isdecimal() or int(step) > len(items):
        raise IndexError(f"there is no item {step}")
    return int(step)


def _add(document: Manifest, steps: list[str], value: object) -> None:
    parent, last = _get(document, steps[:-1]), steps[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(parent, last), value)
    else:
        parent[last] = value


def _remove(document: Manifest, steps: list[str]) -> Any:  # noqa: ANN401 any JSON
    parent, last = _get(document, steps[:-1]), steps[-1]
    return parent.pop(_index(parent, last)) if isinstance(parent, list) else parent.pop(last)
