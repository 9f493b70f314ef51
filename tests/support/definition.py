"""The kind of the tiny controller, as a real API server wants it defined."""

from paddle_operator.api.manifest import Manifest

NAME = "parents.example.org"
CONDITION = {
    "type": "object",
    "required": ["type"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message", "lastTransitionTime")},
        "observedGeneration": {"type": "integer"},
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "children": {"type": "integer"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": CONDITION,
        },
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "status": STATUS},
}
DEFINITION: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "parents", "singular": "parent", "kind": "Parent"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}
