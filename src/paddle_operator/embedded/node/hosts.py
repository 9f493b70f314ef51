"""The names that pods find each other by, as a hosts file for each pod; pure but for the writing of it."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.api.manifest import Manifest, key_of, labels_of

DOMAIN = "svc.cluster.local"
LOCAL = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
# Without it some resolvers stop at the first line that has the name.
RESOLVER = "multi on\n"


@dataclass(frozen=True)
class Named:
    """An address, and the names that lead to it from its own namespace and from all."""

    address: str
    namespace: str
    near: tuple[str, ...]
    far: tuple[str, ...]


def names(services: Iterable[Manifest], pods: Iterable[Manifest]) -> list[Named]:
    """Give what a cluster's DNS would answer: services lead to their pods, without an address between."""
    found: list[Named] = []
    everyone = sorted(pods, key=key_of)
    for service in sorted(services, key=key_of):
        found += [_named(service, pod) for pod in everyone if _serves(service, pod)]
    return found


def _serves(service: Manifest, pod: Manifest) -> bool:
    spec, status = service.get("spec") or {}, pod.get("status") or {}
    selector = spec.get("selector")
    if not selector or key_of(service).namespace != key_of(pod).namespace or not status.get("podIP"):
        return False
    if status.get("phase") in ("Succeeded", "Failed") or not selector.items() <= labels_of(pod).items():
        return False
    return bool(spec.get("publishNotReadyAddresses")) or is_ready(pod)


def is_ready(pod: Manifest) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def _named(service: Manifest, pod: Manifest) -> Named:
    namespace, name = key_of(service)
    near, far = [name], list(_longer(name, namespace))
    spec = pod["spec"]
    hostname = spec.get("hostname")
    if hostname and spec.get("subdomain") == name:
        near.append(f"{hostname}.{name}")
        far += _longer(f"{hostname}.{name}", namespace)
    return Named(pod["status"]["podIP"], namespace, tuple(near), tuple(far))


def _longer(name: str, namespace: str) -> Iterator[str]:
    yield from (f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.{DOMAIN}")


def text(own: str, hostname: str, namespace: str, every: Iterable[Named]) -> str:
    """Give a pod's hosts file: itself, and whom it can find."""
    lines = [LOCAL, f"{own} {hostname}\n"]
    for found in every:
        words = (*found.near, *found.far) if found.namespace == namespace else found.far
        lines.append(f"{found.address} {' '.join(words)}\n")
    return "".join(lines)


@dataclass
class HostsFiles:
    """The files of the pods that run here; containers have them mounted, so they are written in place."""

    _pods: dict[str, tuple[Path, str, str, str]] = field(default_factory=dict)
    _names: list[Named] = field(default_factory=list)

    def add(self, uid: str, place: Path, pod: Manifest, address: str) -> None:
        hostname = str(pod["spec"].get("hostname") or key_of(pod).name)
        self._pods[uid] = (place, address, hostname, key_of(pod).namespace)
        self._write(uid)

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def update(self, found: list[Named]) -> None:
        if found != self._names:
            self._names = found
            for uid in self._pods:
                self._write(uid)

    def _write(self, uid: str) -> None:
        place, address, hostname, namespace = self._pods[uid]
        write_in_place(place, text(address, hostname, namespace, self._names))


def write_in_place(place: Path, content: str) -> None:
    """Keep the file itself, which is mounted elsewhere; who reads meanwhile finds whole lines, old or new."""
    data = content.encode()
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
