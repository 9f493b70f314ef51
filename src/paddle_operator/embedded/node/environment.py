"""What a container is started with: its command line and its variables, as a kubelet would make them; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from paddle_operator.api.manifest import Manifest, annotations_of, labels_of
from paddle_operator.embedded.node.sources import CONFIG_MAPS, SECRETS, ConfigurationError, Sources

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")
MAPPED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Whereabouts:
    """What only the node knows of a pod."""

    node: str
    host_address: str
    address: str


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Put values in the place of $(NAME); what is not known stays, and $$ is a dollar sign."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found[1], found[0])

    return REFERENCE.sub(value, text)


def variables(pod: Manifest, container: Manifest, sources: Sources, where: Whereabouts) -> dict[str, str]:
    """Give the variables that the pod's author named; a later one may be made of those before it."""
    found: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        for field, kind in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            if reference := source.get(field):
                prefix = source.get("prefix") or ""
                values = sources.all(kind, reference)
                found |= {prefix + name: _text(value) for name, value in values.items() if NAME.fullmatch(name)}
    for variable in container.get("env") or []:
        value = _value(pod, variable, found, sources, where)
        if value is not None:
            found[variable["name"]] = value
    return found


def _value(
    pod: Manifest, variable: Manifest, known: Mapping[str, str], sources: Sources, where: Whereabouts
) -> str | None:
    match variable.get("valueFrom") or {}:
        case {"fieldRef": {"fieldPath": path}}:
            return field_of(pod, path, where)
        case {"configMapKeyRef": reference}:
            value = sources.one(CONFIG_MAPS, reference)
            return None if value is None else _text(value)
        case {"secretKeyRef": reference}:
            value = sources.one(SECRETS, reference)
            return None if value is None else _text(value)
        case {"resourceFieldRef": _}:
            raise ConfigurationError(f"{variable['name']} asks for resources, which are not measured out here")
    return expanded(str(variable.get("value") or ""), known)


def field_of(pod: Manifest, path: str, where: Whereabouts) -> str:
    metadata = pod["metadata"]
    if found := MAPPED.fullmatch(path):
        values = labels_of(pod) if found[1] == "labels" else annotations_of(pod)
        return values.get(found[2], "")
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": where.node,
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName") or "default",
        "status.hostIP": where.host_address,
        "status.hostIPs": where.host_address,
        "status.podIP": where.address,
        "status.podIPs": where.address,
    }
    if path not in known:
        raise ConfigurationError(f"there is no field {path} to take a value from")
    return str(known[path])


def command_line(container: Manifest, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Give the command; an image's own is not known, since images are not run here."""
    if not container.get("command"):
        raise ConfigurationError(
            f"container {container['name']} names no command, and the one in its image is not known here: add command"
        )
    words = [*container["command"], *(container.get("args") or [])]
    return tuple(expanded(word, variables) for word in words)


def _text(value: bytes) -> str:
    return value.decode(errors="replace").replace("\0", "")
