"""The resources that the server has: those of every cluster, and those of definitions."""

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources as files

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import rules
from paddle_operator.embedded.apiserver.schema import whole
from paddle_operator.kube.request import Kind

ANYWHERE = frozenset({"metadata.name", "metadata.namespace"})
AGE: Manifest = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
# The fields of core resources that can be selected by, beside those of every object.
SELECTABLE = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase"),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "reason",
        "type",
    ),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
}


# What people look at in core resources; those of pods are in no field.
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "namespaces": (("Status", ".status.phase"),),
    "nodes": (("Status", ".status.conditions[0].reason"),),
    "statefulsets": (("Ready", ".status.readyReplicas"), ("Wanted", ".spec.replicas")),
    "persistentvolumeclaims": (("Status", ".status.phase"), ("Volume", ".spec.volumeName")),
    "persistentvolumes": (("Status", ".status.phase"), ("Claim", ".spec.claimRef.name")),
    "secrets": (("Type", ".type"),),
    "events": (
        ("Type", ".type"),
        ("Reason", ".reason"),
        ("Kind", ".involvedObject.kind"),
        ("Object", ".involvedObject.name"),
        ("Message", ".message"),
    ),
}


@dataclass(frozen=True)
class Resource:
    """A kind as it is served. `custom` ones come from a definition, and are treated a little differently."""

    kind: Kind
    schema: Manifest = field(repr=False)
    singular: str
    short_names: tuple[str, ...] = ()
    columns: tuple[Manifest, ...] = field(default=(AGE,), repr=False)
    has_status: bool = False
    has_generation: bool = False
    custom: bool = False

    @property
    def selectable(self) -> frozenset[str]:
        return ANYWHERE if self.custom else ANYWHERE.union(SELECTABLE.get(self.kind.plural, ()))


def defined(crd: Manifest) -> Resource:
    """Give what a CustomResourceDefinition defines: of several versions the one that is stored."""
    spec, names = crd["spec"], crd["spec"]["names"]
    version = next(version for version in spec["versions"] if version["storage"])
    schema = whole(version["schema"]["openAPIV3Schema"])
    rules.check(schema)
    namespaced = spec["scope"] == "Namespaced"
    return Resource(
        kind=Kind(spec["group"], version["name"], names["plural"], names["kind"], namespaced),
        schema=schema,
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames", ())),
        columns=tuple(version.get("additionalPrinterColumns") or [AGE]),
        has_status="status" in version.get("subresources", {}),
        has_generation=True,
        custom=True,
    )


@functools.cache
def builtin() -> tuple[Resource, ...]:
    """Give the resources of every cluster, with the schemas that a real API server publishes of them."""
    found = json.loads(files.files(__package__).joinpath("builtin.json").read_text())
    return tuple(_builtin(entry, found["schemas"]) for entry in found["resources"])


def _builtin(entry: Manifest, schemas: Manifest) -> Resource:
    kind = Kind(entry["group"], entry["version"], entry["plural"], entry["kind"], entry["namespaced"])
    return Resource(
        kind=kind,
        schema=whole(_linked(schemas[entry["schema"]], schemas)),
        singular=entry["singular"],
        short_names=tuple(entry["shortNames"]),
        columns=(*_columns(entry["plural"]), AGE),
        has_status=entry["status"],
        has_generation=entry["generation"],
    )


def _columns(plural: str) -> Iterator[Manifest]:
    for name, path in COLUMNS.get(plural, ()):
        yield {"name": name, "type": "string", "jsonPath": path}


def _linked(schema: Manifest, schemas: Manifest) -> Manifest:
    """Put named schemas in the place of their names."""
    linked = dict(schema)
    if name := linked.pop("$ref", None):
        linked = {**_linked(schemas[name], schemas), **linked}
    if "properties" in linked:
        linked["properties"] = {name: _linked(part, schemas) for name, part in linked["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(linked.get(key), dict):
            linked[key] = _linked(linked[key], schemas)
    return linked


class Catalogue:
    """All resources, by where they are asked for."""

    def __init__(self, every: Iterable[Resource]) -> None:
        self._by_place: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for found in every:
            self.put(found)

    def put(self, found: Resource) -> None:
        kind = found.kind
        self._by_place[kind.group, kind.version, kind.plural] = found
        self._by_kind[kind.group, kind.kind] = found

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_place.values())

    def at(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_place.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version.rpartition("/")[0], kind))
