"""The ConfigMaps and Secrets that a pod reads: which they are, and their values."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
SECRETS = Kind("", "v1", "secrets", "Secret")
REFERENCES = (
    ("configMapRef", "configMapKeyRef", CONFIG_MAPS),
    ("secretRef", "secretKeyRef", SECRETS),
)


class ConfigurationError(Exception):
    """The pod names what is not there, or what this node cannot do; somebody has to change something."""


@dataclass(frozen=True)
class Sources:
    """The values of what was found, by kind and name."""

    values: Mapping[tuple[Kind, str], Mapping[str, bytes]] = field(default_factory=dict)

    def all(self, kind: Kind, reference: Manifest) -> Mapping[str, bytes]:
        """Give all values; nothing for what may be missing."""
        found = self.values.get((kind, str(reference.get("name") or reference.get("secretName"))))
        if found is None and not reference.get("optional"):
            name = reference.get("name") or reference.get("secretName")
            raise ConfigurationError(f'{kind.kind.lower()} "{name}" not found')
        return found or {}

    def one(self, kind: Kind, reference: Manifest) -> bytes | None:
        values = self.all(kind, reference)
        if reference["key"] not in values and not reference.get("optional"):
            raise ConfigurationError(f"couldn't find key {reference['key']} in {kind.kind} {reference['name']}")
        return values.get(reference["key"])


def references(spec: Manifest) -> Iterator[tuple[Kind, str]]:
    """Name what the containers and the volumes of a pod read."""
    for container in (*(spec.get("initContainers") or []), *spec["containers"]):
        for all_of, one_of, kind in REFERENCES:
            for source in container.get("envFrom") or []:
                yield from ((kind, source[all_of]["name"]) for _ in [0] if source.get(all_of))
            for variable in container.get("env") or []:
                reference = (variable.get("valueFrom") or {}).get(one_of)
                yield from ((kind, reference["name"]) for _ in [0] if reference)
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume)
        for part in (volume.get("projected") or {}).get("sources") or []:
            yield from _of_volume(part)


def _of_volume(volume: Manifest) -> Iterator[tuple[Kind, str]]:
    if found := volume.get("configMap"):
        yield CONFIG_MAPS, found["name"]
    if found := volume.get("secret"):
        yield SECRETS, found.get("secretName") or found["name"]


async def observe_sources(client: Client, namespace: str, spec: Manifest) -> Sources:
    values: dict[tuple[Kind, str], Mapping[str, bytes]] = {}
    for kind, name in set(references(spec)):
        try:
            values[kind, name] = values_of(await client.get(kind, Key(namespace, name)))
        except errors.NotFoundError:
            continue
    return Sources(values)


def values_of(manifest: Manifest) -> dict[str, bytes]:
    plain = manifest.get("data") or {}
    encoded = manifest.get("binaryData") or {}
    if manifest.get("kind") == SECRETS.kind:
        plain, encoded = {}, plain
    decoded = {name: _decoded(value) for name, value in encoded.items()}
    return {name: value.encode() for name, value in plain.items()} | decoded


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value)
    except ValueError:
        return b""
