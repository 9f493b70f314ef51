"""A Kubernetes object as it goes over the wire, and the few facts that every object has."""

from typing import Any, NamedTuple

Manifest = dict[str, Any]


class Key(NamedTuple):
    """Where an object is among those of its kind; `namespace` is empty for kinds without one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def uid_of(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("uid", ""))


def version_of(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("resourceVersion", ""))


def labels_of(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def annotations_of(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("annotations") or {}


def controller_of(manifest: Manifest) -> Manifest | None:
    """Give the one owner that manages this object, if it has one."""
    owners: list[Manifest] = manifest["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def owners_of(manifest: Manifest) -> frozenset[str]:
    """Give the uids of all that this object goes away with."""
    owners: list[Manifest] = manifest["metadata"].get("ownerReferences") or []
    return frozenset(str(owner.get("uid")) for owner in owners)


def is_complete(manifest: object) -> bool:
    """Tell whether this has what every stored object has: a name and a place to be addressed by."""
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
