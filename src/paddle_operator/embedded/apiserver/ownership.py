"""Who set which field: server-side apply, and the managedFields that every write leaves behind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.fields import Path, leaves, merged, paths_of, spoken, tree_of, without

APPLY, UPDATE = "Apply", "Update"
# What the server itself writes belongs to nobody.
SERVERS_OWN = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
)


@dataclass(frozen=True)
class Author:
    """In whose name a write is made, and by which way."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        way = f' with subresource "{self.subresource}"' if self.subresource else ""
        return (
            f'"{self.manager}"{way}' if self.operation == APPLY else f'"{self.manager}"{way} using {self.api_version}'
        )


@dataclass(frozen=True)
class Owned:
    author: Author
    paths: frozenset[Path]
    time: str


def owned_by(manifest: Manifest) -> list[Owned]:
    entries: list[Manifest] = manifest["metadata"].get("managedFields") or []
    return [
        Owned(
            Author(entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", "")),
            frozenset(paths_of(entry.get("fieldsV1") or {})),
            entry.get("time", ""),
        )
        for entry in entries
    ]


def recorded(manifest: Manifest, owners: Sequence[Owned]) -> Manifest:
    """Write down who has what; who has nothing is not mentioned."""
    entries = [
        {
            "manager": owned.author.manager,
            "operation": owned.author.operation,
            "apiVersion": owned.author.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": tree_of(owned.paths),
            **({"subresource": owned.author.subresource} if owned.author.subresource else {}),
        }
        for owned in owners
        if owned.paths
    ]
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    return {**manifest, "metadata": {**metadata, **({"managedFields": entries} if entries else {})}}


def content(manifest: Manifest) -> Manifest:
    """Give what somebody can set: all but what the server itself writes."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in SERVERS_OWN}
    rest = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**rest, **({"metadata": metadata} if metadata else {})}


def updated(before: Manifest | None, after: Manifest, schema: Manifest, author: Author) -> Manifest:
    """Give the author of a plain write all fields that it changed; who sends along who set what is believed."""
    old = {} if before is None else fields_in(before, schema)
    new = fields_in(after, schema)
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    told = after if before is None or after["metadata"].get("managedFields") else before
    owners = [_kept(owned, owned.paths & new.keys(), changed, author) for owned in owned_by(told)]
    return recorded(after, _with(owners, author, frozenset(changed)))


def fields_in(manifest: Manifest, schema: Manifest) -> dict[Path, object]:
    found = leaves(content(manifest), schema)
    found.pop((), None)
    return found


def _kept(owned: Owned, paths: frozenset[Path], changed: set[Path], author: Author) -> Owned:
    kept = paths if owned.author == author else paths - changed
    return replace(owned, paths=frozenset(kept), time=owned.time if kept == owned.paths else now())


def _with(owners: list[Owned], author: Author, paths: frozenset[Path]) -> list[Owned]:
    for number, owned in enumerate(owners):
        if owned.author == author:
            every = owned.paths | paths
            owners[number] = replace(owned, paths=every, time=owned.time if every == owned.paths else now())
            return owners
    return [*owners, Owned(author, paths, now())]


def applied(live: Manifest, wanted: Manifest, schema: Manifest, author: Author, *, force: bool) -> Manifest:
    """Set the wanted fields, and remove those that the same author set before and wants no more."""
    fields, present = fields_in(wanted, schema), fields_in(live, schema)
    owners = owned_by(live)
    others = [owned for owned in owners if owned.author != author]
    contested = {path for path, value in fields.items() if path in present and present[path] != value}
    if not force:
        _refuse_contested(others, contested)
    before = next((owned for owned in owners if owned.author == author), Owned(author, frozenset(), now()))
    kept_by_others = frozenset[Path]().union(*(owned.paths for owned in others))
    kept = fields.keys() | kept_by_others
    filled = {path[:depth] for path in kept for depth in range(1, len(path))}  # was empty once, and is not any more
    given_up = before.paths - kept - filled
    result = _over(live, wanted, schema, given_up)
    left = fields_in(result, schema).keys()
    others = [_kept(owned, owned.paths & left, contested, author) for owned in others]
    time = before.time if before.paths == fields.keys() else now()
    return recorded(result, [*others, Owned(author, frozenset(fields), time)])


def _over(live: Manifest, wanted: Manifest, schema: Manifest, given_up: frozenset[Path]) -> Manifest:
    base, over = dict(live), content(wanted)
    put = merged({name: live[name] for name in over if name in live}, over, schema)
    base |= put if isinstance(put, dict) else {}
    base["metadata"] = {**live["metadata"], **base["metadata"]}
    rest = without(base, schema, tree_of(given_up))
    return rest if isinstance(rest, dict) else base


def _refuse_contested(others: Sequence[Owned], contested: set[Path]) -> None:
    causes = [
        (str(owned.author), spoken(path)) for owned in others for path in sorted(owned.paths) if path in contested
    ]
    if causes:
        raise refusals.contested(causes)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
