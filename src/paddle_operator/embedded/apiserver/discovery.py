"""Tells clients what there is: groups, versions and resources, in the form that kubectl asks for."""

from collections import defaultdict

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.resources import Catalogue, Resource

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
STATUS_VERBS = ["get", "patch", "update"]


def document(catalogue: Catalogue, path: str) -> Manifest | None:
    """Give what is told under a path; None if it is none of these."""
    match path.strip("/").split("/"):
        case ["version"]:
            return {"major": "1", "minor": "35", "gitVersion": "v1.35.0+embedded"}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in _groups(catalogue).items() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", version] | ["apis", "", version]:
            return _resources(catalogue, "", version)
        case ["apis", group, version]:
            return _resources(catalogue, group, version)
    return None


def _groups(catalogue: Catalogue) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for resource in catalogue:
        if resource.kind.version not in groups[resource.kind.group]:
            groups[resource.kind.group].append(resource.kind.version)
    return groups


def _group(name: str, versions: list[str]) -> Manifest:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(catalogue: Catalogue, group: str, version: str) -> Manifest | None:
    found = [one for one in catalogue if (one.kind.group, one.kind.version) == (group, version)]
    if not found:
        return None
    listed = [entry for resource in found for entry in _entries(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].kind.api_version,
        "resources": listed,
    }


def _entries(resource: Resource) -> list[Manifest]:
    kind = resource.kind
    known: Manifest = {
        "name": kind.plural,
        "singularName": resource.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": VERBS,
    }
    if resource.short_names:
        known["shortNames"] = list(resource.short_names)
    status = {**known, "name": f"{kind.plural}/status", "singularName": "", "verbs": STATUS_VERBS}
    status.pop("shortNames", None)
    return [known, status] if resource.has_status else [known]
