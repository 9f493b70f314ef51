"""What kubectl reads before it writes: that the server itself looks for unknown fields, and what fields there are."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.resources import Catalogue, Resource

ROOT = "openapi/v3"
VERSION = "3.0.0"
OF_KIND = "x-kubernetes-group-version-kind"
FIELD_VALIDATION: Manifest = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}


def document(catalogue: Catalogue, asked_for: str) -> Manifest | None:
    """Give the list of what is described, or the description of one version of a group."""
    asked = asked_for.strip("/")
    if asked == ROOT:
        places = {_place(resource) for resource in catalogue}
        return {"paths": {place: {"serverRelativeURL": f"/{ROOT}/{place}"} for place in sorted(places)}}
    found = [resource for resource in catalogue if asked == f"{ROOT}/{_place(resource)}"]
    if not found:
        return None
    return {
        "openapi": VERSION,
        "info": {"title": "paddle-operator", "version": "v1"},
        "paths": {path(resource): _operations(resource) for resource in found},
        "components": {"schemas": {_name(resource): _schema(resource) for resource in found}},
    }


def _place(resource: Resource) -> str:
    kind = resource.kind
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def path(resource: Resource) -> str:
    within = "/namespaces/{namespace}" if resource.kind.namespaced else ""
    return f"/{_place(resource)}{within}/{resource.kind.plural}/{{name}}"


def identity(resource: Resource) -> Manifest:
    kind = resource.kind
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _operations(resource: Resource) -> Manifest:
    answers = {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": _link(resource)}}}}}
    one = {OF_KIND: identity(resource), "responses": answers}
    return {"get": one, "patch": {**one, "parameters": [FIELD_VALIDATION]}}


def _name(resource: Resource) -> str:
    kind = resource.kind
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind]).lstrip(".")


def _link(resource: Resource) -> str:
    return f"#/components/schemas/{_name(resource)}"


def _schema(resource: Resource) -> Manifest:
    return {**resource.schema, OF_KIND: [identity(resource)]}
