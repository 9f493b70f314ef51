"""The mark that an object goes away with the one that it was made for."""

from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest


def owner_of(resource: Kind) -> Manifest:
    """Give the reference to the one object that controls what is made for it."""
    return {
        "apiVersion": resource.definition.api_version,
        "kind": resource.definition.kind,
        "name": resource.metadata.name,
        "uid": resource.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned(resource: Kind, name: str, labels: dict[str, str]) -> Manifest:
    """Give the metadata of an object that is made for this one, in its namespace."""
    return {
        "name": name,
        "namespace": resource.metadata.namespace,
        "labels": labels,
        "ownerReferences": [owner_of(resource)],
    }
