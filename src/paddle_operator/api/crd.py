"""A kind's CustomResourceDefinition, for today's API servers and for those that know v1beta1 only."""

from collections.abc import Callable

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.definition import Column, Definition, Kind
from paddle_operator.api.fields import RULES, checked
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.samplejob import SampleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.api.schema import structural
from paddle_operator.api.training import PyTorchJob, TFJob

KINDS: tuple[type[Kind], ...] = (PaddleJob, SampleSet, SampleJob, CacheBackend, TFJob, PyTorchJob)
GROUP = "apiextensions.k8s.io"
# What API servers before Kubernetes 1.16 do not know, or know of v1 alone.
NEWER_THAN_V1BETA1 = {RULES, "default", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"}


def v1(kind: type[Kind]) -> Manifest:
    """Give the definition for Kubernetes 1.29 and newer; a pattern gives way to the rule that says it in words."""
    definition = kind.definition
    version = {
        "name": definition.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _mapped(_whole(kind), _without_spoken_pattern)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(column, "jsonPath") for column in definition.columns],
    }
    return _crd(definition, "v1", {"versions": [version]})


def v1beta1(kind: type[Kind]) -> Manifest:
    """Give the definition for Kubernetes 1.15 and older: the schema at the top, and no CEL."""
    definition = kind.definition
    spec = {
        "version": definition.version,
        "versions": [{"name": definition.version, "served": True, "storage": True}],
        "preserveUnknownFields": False,
        "validation": {"openAPIV3Schema": _mapped(_whole(kind), _without_newer)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(column, "JSONPath") for column in definition.columns],
    }
    return _crd(definition, "v1beta1", spec)


def _crd(definition: Definition, version: str, spec: Manifest) -> Manifest:
    names = {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.singular,
        **({"shortNames": list(definition.short_names)} if definition.short_names else {}),
    }
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition.name},
        "spec": {"group": definition.group, "names": names, "scope": "Namespaced", **spec},
    }


def _whole(kind: type[Kind]) -> Manifest:
    """Give the schema of the object; of its metadata the API server itself knows all."""
    schema = structural(kind)
    schema["properties"]["metadata"] = {"type": "object"}
    schema["properties"]["status"]["default"] = {}  # the mark of what was there before: see `at_birth`
    schema["required"] = [name for name in schema["required"] if name == "spec"]
    return {**schema, **checked(*kind.definition.rules)}


def _column(column: Column, path: str) -> Manifest:
    priority = {"priority": column.priority} if column.priority else {}
    return {"name": column.name, "type": column.type, path: column.path, **priority}


def _mapped(schema: Manifest, change: Callable[[Manifest], Manifest]) -> Manifest:
    """Change a schema and every schema in it."""
    schema = change(schema)
    if "properties" in schema:
        schema["properties"] = {name: _mapped(part, change) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            schema[key] = _mapped(schema[key], change)
    return schema


def _without_spoken_pattern(schema: Manifest) -> Manifest:
    return {key: value for key, value in schema.items() if key != "pattern" or RULES not in schema}


def _without_newer(schema: Manifest) -> Manifest:
    return {key: value for key, value in schema.items() if key not in NEWER_THAN_V1BETA1}
