"""Users' pod templates: passed on untouched, looked at only for what could never run."""

from typing import Annotated, get_args

import msgspec

from paddle_operator.api.formats import Label, PortName
from paddle_operator.api.manifest import Manifest

OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def limits_of(kind: object) -> Manifest:
    """Give what a string of `formats` asks of the API server."""
    return {"type": "string", **get_args(kind)[1].extra_json_schema}


def open_object(description: str, properties: Manifest, *required: str) -> Manifest:
    names = {"required": list(required)} if required else {}
    return {"type": "object", "description": description, "properties": properties, **names, **OPEN}


def port_number() -> Manifest:
    return {"type": "integer", "minimum": 1, "maximum": 65535}


PORT = open_object(
    "A port that the container listens on.",
    {
        "name": {"description": "The port's name.", **limits_of(PortName)},
        "containerPort": {"description": "The port inside the pod.", **port_number()},
        "hostPort": {"description": "The port on the node.", **port_number(), "minimum": 0},
    },
    "containerPort",
)
CONTAINER = open_object(
    "A container, as in any pod.",
    {
        "name": {"description": "The container's name.", **limits_of(Label)},
        "image": {"description": "The image to run.", "type": "string", "minLength": 1},
        "ports": {"description": "Ports to list.", "type": "array", "maxItems": 64, "items": PORT},
    },
    "name",
    "image",
)
CONTAINERS = {
    "description": "What runs in the pod; the first container is the one that trains.",
    "type": "array",
    "minItems": 1,
    "maxItems": 32,
    "items": CONTAINER,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
POD_SPEC = open_object(
    "A pod's spec, as in any pod.",
    {
        "containers": CONTAINERS,
        "restartPolicy": {
            "description": "Whether the kubelet starts containers again.",
            "type": "string",
            "enum": ["", "Always", "OnFailure", "Never"],
        },
    },
    "containers",
)
TEMPLATE = open_object(
    "The pods to make, as in a Deployment.",
    {"metadata": {"description": "Labels and annotations of the pods.", "type": "object", **OPEN}, "spec": POD_SPEC},
    "spec",
)

PodTemplate = Annotated[Manifest, msgspec.Meta(extra_json_schema=TEMPLATE)]
