"""The schemas of core resources as a real API server publishes them, without their prose: the embedded one's data."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from paddle_operator.api.manifest import Manifest

FILE = Path(__file__).parents[2] / "src/paddle_operator/embedded/apiserver/builtin.json"
WANTED = {
    "api/v1": (
        "configmaps",
        "events",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    "apis/apps/v1": ("daemonsets", "deployments", "statefulsets"),
    "apis/coordination.k8s.io/v1": ("leases",),
    "apis/scheduling.k8s.io/v1": ("priorityclasses",),
    "apis/storage.k8s.io/v1": ("csidrivers", "storageclasses"),
}
PATHS = [path for place in WANTED for path in (f"/{place}", f"/openapi/v3/{place}")]
KEPT = (
    "type",
    "format",
    "required",
    "enum",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
PREFIX = "#/components/schemas/"
SPECIAL: dict[str, Manifest] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
}
OPEN = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",  # the embedded server has its own words for it
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
)
COUNTED = ("pods", "daemonsets", "deployments", "statefulsets")


def resources(get: Callable[[str], Manifest]) -> Manifest:
    """Collect the wanted resources, and the schemas that they need."""
    entries: list[Manifest] = []
    schemas: dict[str, Manifest] = {}
    for place, plurals in WANTED.items():
        listed = {found["name"]: found for found in get(f"/{place}")["resources"]}
        components = get(f"/openapi/v3/{place}")["components"]["schemas"]
        for plural in plurals:
            entry = _entry(place, listed, plural, components)
            entries.append(entry)
            _collect(entry["schema"], components, schemas)
    return {"resources": entries, "schemas": dict(sorted(schemas.items()))}


def _entry(place: str, listed: dict[str, Manifest], plural: str, components: Manifest) -> Manifest:
    found, (*_, version) = listed[plural], place.split("/")
    group = place.split("/")[1] if place.startswith("apis/") else ""
    identity = {"group": group, "kind": found["kind"], "version": version}
    return {
        **identity,
        "plural": plural,
        "singular": found["singularName"],
        "shortNames": found.get("shortNames", []),
        "namespaced": found["namespaced"],
        "status": f"{plural}/status" in listed,
        "generation": plural in COUNTED,
        "schema": next(
            name for name, schema in components.items() if identity in schema.get("x-kubernetes-group-version-kind", ())
        ),
    }


def _collect(name: str, components: Manifest, schemas: dict[str, Manifest]) -> None:
    if name in schemas:
        return
    schemas[name] = {}
    schemas[name] |= _plain(components[name], name, lambda inner: _collect(inner, components, schemas))


def _plain(schema: Manifest, name: str, collect: Callable[[str], None]) -> Manifest:
    """Say the same in the words of a definition's schema, as briefly as can be."""
    if name in SPECIAL:
        return SPECIAL[name]
    if name in OPEN:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plain = {key: schema[key] for key in KEPT if key in schema}
    if not plain.get("default", True):  # what means nothing is not written into every object
        del plain["default"]
    if reference := _reference(schema):
        collect(reference)
        plain["$ref"] = reference
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            plain[key] = _plain(schema[key], "", collect)
    if "properties" in schema:
        plain["properties"] = {part: _plain(inner, "", collect) for part, inner in schema["properties"].items()}
    return plain


def _reference(schema: Manifest) -> str:
    named = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", []) if "$ref" in part), "")
    return str(named).removeprefix(PREFIX)


def text(get: Callable[[str], Manifest]) -> str:
    return json.dumps(resources(get), separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    kubectl = ["kubectl", "--kubeconfig", sys.argv[1], "get", "--raw"]
    FILE.write_text(text(lambda path: json.loads(subprocess.check_output([*kubectl, path]))))
