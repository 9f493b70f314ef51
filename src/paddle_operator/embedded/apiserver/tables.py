"""Objects as the table that `kubectl get` shows: the columns of their definition, with ages as people read them."""

import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import msgspec

from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.embedded.apiserver import podcolumns
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.kube.request import PODS

NAME: Manifest = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\['([^']+)'\]|\[(-?\d+):?\]")
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 31_536_000
# Below the first limit a span has two units, below the second one.
UNITS = (
    (10 * MINUTE, 3 * HOUR, "m", MINUTE),
    (8 * HOUR, 2 * DAY, "h", HOUR),
    (8 * DAY, 2 * YEAR, "d", DAY),
    (8 * YEAR, 8 * YEAR, "y", YEAR),
)
SMALLER = {"m": ("s", 1), "h": ("m", MINUTE), "d": ("h", HOUR), "y": ("d", DAY)}


def table(resource: Resource, items: Sequence[Manifest], metadata: Manifest, now: datetime) -> Manifest:
    columns = (*podcolumns.COLUMNS, *resource.columns) if resource.kind == PODS else resource.columns
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [NAME, *map(_definition, columns)],
        "rows": [_row(resource, item, now) for item in items],
    }


async def lines(resource: Resource, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Give each event of a watch as the table of its object, and a bookmark as a table without rows."""
    async for event in events:
        told = msgspec.json.decode(event)
        found = told["object"]
        if told["type"] != "ERROR":
            items = [] if told["type"] == "BOOKMARK" else [found]
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            told["object"] = table(resource, items, version, datetime.now(UTC))
        yield msgspec.json.encode(told) + b"\n"


def _definition(column: Manifest) -> Manifest:
    return {
        "name": column["name"],
        "type": column["type"],
        "format": column.get("format", ""),
        "description": column.get("description", ""),
        "priority": column.get("priority", 0),
    }


def _row(resource: Resource, item: Manifest, now: datetime) -> Manifest:
    own = podcolumns.cells(item) if resource.kind == PODS else []
    cells = [key_of(item).name, *own, *(_cell(column, item, now) for column in resource.columns)]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
    return {"cells": cells, "object": partial}


def _cell(column: Manifest, item: Manifest, now: datetime) -> object:
    value = value_at(item, column["jsonPath"])
    match column["type"]:
        case "date":
            return age(value, now)
        case "integer" | "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "string" if value is not None:
            return value if isinstance(value, str) else str(value)
    return None


def value_at(item: object, path: str) -> object:
    """Follow a JSON path of plain steps, of slices to the first in them; it leads nowhere rather than fail."""
    for name, quoted, number in STEP.findall(path):
        if isinstance(item, dict):
            item = item.get(name or quoted)
        elif isinstance(item, list) and number and -len(item) <= int(number) < len(item):
            item = item[int(number)]
        else:
            return None
    return item


def age(since: object, now: datetime) -> str | None:
    if since is None:
        return None
    try:
        seconds = int((now - datetime.fromisoformat(str(since)).astimezone(UTC)).total_seconds())
    except ValueError:
        return "<invalid>"
    return duration(seconds)


def duration(seconds: int) -> str:
    """Write a time span with two units at most, and one once the second says little."""
    if seconds < 0:
        return "0s" if seconds >= -1 else "<invalid>"
    if seconds < 2 * MINUTE:
        return f"{seconds}s"
    for most_with_two, most, unit, size in UNITS:
        if seconds < most_with_two:
            rest = seconds % size // SMALLER[unit][1]
            return f"{seconds // size}{unit}{rest}{SMALLER[unit][0]}" if rest else f"{seconds // size}{unit}"
        if seconds < most:
            return f"{seconds // size}{unit}"
    return f"{seconds // YEAR}y"
