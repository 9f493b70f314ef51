"""A pod's volumes: directories of this machine, made ready before its containers and cleared after them."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from paddle_operator.api.manifest import Key, Manifest, annotations_of, labels_of, uid_of
from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.embedded.node.environment import Whereabouts, field_of
from paddle_operator.embedded.node.plugin import Plugin
from paddle_operator.embedded.node.rootfs import Mount
from paddle_operator.embedded.node.sources import CONFIG_MAPS, SECRETS, ConfigurationError, Sources, values_of
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
READABLE = 0o644


@dataclass(frozen=True)
class Source:
    """Where a volume is on this machine."""

    path: Path
    read_only: bool = False


@dataclass(frozen=True)
class Volumes:
    """`disk` and `memory` hold what pods write down; what is secret is never on a disk."""

    client: Client
    plugin: Plugin
    disk: Path
    memory: Path

    async def prepare(self, pod: Manifest, sources: Sources, where: Whereabouts) -> dict[str, Source]:
        return {
            volume["name"]: await self._prepared(pod, volume, sources, where)
            for volume in pod["spec"].get("volumes") or []
        }

    async def release(self, pod: Manifest) -> None:
        """Give back what was mounted, also for a pod that never had all of its volumes, and remove what was its own."""
        await self.plugin.unpublish(uid_of(pod))
        for root in (self.disk, self.memory):
            shutil.rmtree(root / uid_of(pod) / "local", ignore_errors=True)

    async def _prepared(self, pod: Manifest, volume: Manifest, sources: Sources, where: Whereabouts) -> Source:
        match volume if volume.keys() - {"name"} else {**volume, "emptyDir": {}}:
            case {"persistentVolumeClaim": claim}:
                return await self._claimed(pod, claim)
            case {"hostPath": host}:
                return Source(_of_machine(host))
            case {"emptyDir": empty}:
                root = self.memory if (empty or {}).get("medium") == "Memory" else self.disk
                return Source(_directory(root / uid_of(pod) / "local" / volume["name"], 0o777))
        return Source(self._written(pod, volume, sources, where), read_only=True)

    def _written(self, pod: Manifest, volume: Manifest, sources: Sources, where: Whereabouts) -> Path:
        """Write files from objects; they stay as they were when the pod began."""
        kind = next((name for name in ("configMap", "secret", "projected", "downwardAPI") if name in volume), None)
        if kind is None:
            named = ", ".join(name for name in volume if name != "name")
            raise ConfigurationError(f"volume {volume['name']} is a {named}, which a node without a cluster has not")
        described = volume[kind] or {}
        parts: list[Manifest] = described.get("sources") or [] if kind == "projected" else [{kind: described}]
        place = _directory(self.memory / uid_of(pod) / "local" / volume["name"], 0o755)
        for part in parts:
            for path, (content, mode) in _files(pod, part, sources, where).items():
                file = place / _inside(path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                file.chmod(mode or described.get("defaultMode") or READABLE)
        return place

    async def _claimed(self, pod: Manifest, reference: Manifest) -> Source:
        key = Key(pod["metadata"]["namespace"], reference["claimName"])
        try:
            claim = await self.client.get(CLAIMS, key)
            if (claim.get("status") or {}).get("phase") != "Bound":
                raise ConfigurationError(f"claim {key.name} is not bound to a volume")
            volume = await self.client.get(VOLUMES, Key("", claim["spec"]["volumeName"]))
        except errors.NotFoundError as error:
            raise ConfigurationError(f"there is no claim {key.name}, or not its volume: {error}") from error
        read_only = bool(reference.get("readOnly"))
        match volume["spec"]:
            case {"csi": {"driver": driver}} if driver == CSI_DRIVER:
                secrets = await self._secrets(volume)
                return Source(await self.plugin.publish(uid_of(pod), volume, secrets, read_only=read_only), read_only)
            case {"hostPath": host} | {"local": host}:
                return Source(_of_machine(host), read_only)
        raise ConfigurationError(f"volume {volume['metadata']['name']} is of a kind that there is not on one machine")

    async def _secrets(self, volume: Manifest) -> dict[str, str]:
        reference = volume["spec"]["csi"].get("nodePublishSecretRef")
        if not reference:
            return {}
        try:
            secret = await self.client.get(SECRETS, Key(reference["namespace"], reference["name"]))
        except errors.NotFoundError as error:
            raise ConfigurationError(f"there is no Secret {reference['name']}: create it") from error
        return {name: value.decode(errors="replace") for name, value in values_of(secret).items()}


def mounts(container: Manifest, prepared: Mapping[str, Source]) -> list[Mount]:
    """Give what a container sees of its pod's volumes."""
    found = []
    for mount in container.get("volumeMounts") or []:
        if mount["name"] not in prepared:
            raise ConfigurationError(f"container {container['name']} mounts {mount['name']}, which is no volume")
        source = prepared[mount["name"]]
        path = source.path
        if mount.get("subPathExpr"):
            raise ConfigurationError(f"container {container['name']} has a subPathExpr: use subPath")
        if below := mount.get("subPath"):
            path /= _inside(below)
            if not path.exists():
                path.mkdir(parents=True)
        found.append(Mount(str(path), mount["mountPath"], bool(mount.get("readOnly")) or source.read_only))
    return found


def _of_machine(host: Manifest) -> Path:
    path, kind = Path(host["path"]), host.get("type") or ""
    try:
        if kind == "FileOrCreate":
            path.touch()
        elif kind in ("DirectoryOrCreate", "") and not path.exists():
            path.mkdir(parents=True)
    except OSError as error:
        raise ConfigurationError(f"hostPath {path} cannot be made: {error.strerror}") from error
    if not path.exists():
        raise ConfigurationError(f"hostPath {path} is not there")
    return path


def _files(pod: Manifest, part: Manifest, sources: Sources, where: Whereabouts) -> dict[str, tuple[bytes, int | None]]:
    """Give files by their paths, with the mode of each, if it has one."""
    if described := part.get("downwardAPI"):
        items = described.get("items") or []
        return {item["path"]: (_told(pod, item, where).encode(), item.get("mode")) for item in items}
    for field, kind in (("configMap", CONFIG_MAPS), ("secret", SECRETS)):
        if field in part:
            values = sources.all(kind, part[field])
            if items := part[field].get("items"):
                return {item["path"]: (_value(values, item["key"]), item.get("mode")) for item in items}
            return {name: (value, None) for name, value in values.items()}
    return {}  # a token for an API server that nobody in a pod reaches


def _told(pod: Manifest, item: Manifest, where: Whereabouts) -> str:
    """Give what a file tells of its pod; all labels or annotations are a line each, which no variable can be."""
    path = (item.get("fieldRef") or {}).get("fieldPath")
    if path is None:
        raise ConfigurationError(f"{item['path']} asks for resources, which are not measured out here")
    of = {"metadata.labels": labels_of, "metadata.annotations": annotations_of}.get(path)
    if of is None:
        return field_of(pod, path, where)
    return "\n".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(of(pod).items()))


def _value(values: Mapping[str, bytes], key: str) -> bytes:
    if key not in values:
        raise ConfigurationError(f"there is no key {key} for a file of a volume")
    return values[key]


def _inside(path: str) -> PurePosixPath:
    """Take a path below a directory, and never out of it."""
    found = PurePosixPath(path)
    if found.is_absolute() or ".." in found.parts:
        raise ConfigurationError(f"{path!r} leads out of its volume")
    return found


def _directory(place: Path, mode: int) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(mode)
    return place
