"""The manifests of a file, read and looked over: what one machine cannot do is refused, what it ignores is named."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from paddle_operator.api.manifest import Manifest, is_complete, key_of
from paddle_operator.embedded.node.sources import SECRETS, values_of

RESOURCES = ("limits", "requests")
PLACEMENT = (
    *("nodeSelector", "nodeName", "tolerations", "topologySpreadConstraints"),
    *("priorityClassName", "schedulerName", "runtimeClassName"),
)

POLICIES = ("NetworkPolicy",)

# What a SampleSet's Secret says of its stores, and how names end that Kubernetes gives.
STORES = ("metaurl", "bucket")
INSIDE = (".svc", ".svc.cluster.local")

# Kinds of Kubernetes' own whose controllers are not here.
UNTENDED = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet")


class ManifestError(Exception):
    """A file is no YAML, or asks for what one machine has not."""


def read(path: Path) -> list[Manifest]:
    try:
        found = [document for document in yaml.safe_load_all(path.read_text()) if isinstance(document, dict)]
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path} is no YAML: {error}") from error
    manifests = [item for document in found for item in _items(document)]
    if broken := next((item for item in manifests if not is_complete(item)), None):
        raise ManifestError(f"{path} has something without metadata.name in it: {str(broken)[:60]!r}")
    for manifest in manifests:
        _refuse(path, manifest)
    return manifests


def _items(document: Manifest) -> list[Manifest]:
    """Take a List for what is in it."""
    if document.get("kind") == "List":
        return list(document.get("items") or [])
    return [document]


def _refuse(path: Path, manifest: Manifest) -> None:
    """Refuse what this machine is not; what is wrong everywhere is the API server's to tell."""
    kind, name, spec = manifest.get("kind"), manifest["metadata"]["name"], manifest.get("spec")
    if kind in UNTENDED:
        raise ManifestError(
            f"{path}: nobody looks after {kind} {name} on one machine: make pods of it, or apply the file to a cluster"
        )
    if not isinstance(spec, dict):
        return
    partitions = spec.get("partitions")
    if kind == "SampleSet" and isinstance(partitions, int) and partitions > 1:
        raise ManifestError(
            f"{path}: SampleSet {name} asks for {partitions} partitions, which take as many nodes, and this machine "
            "is one: set partitions to 1, or apply the file to a cluster"
        )
    if _caches_with(spec, "fluid"):
        raise ManifestError(
            f"{path}: {kind} {name} caches with Fluid, which is not here: cache with cacheEngine.juicefs, or apply the "
            "file to a cluster that has it"
        )
    for container in _containers(spec):
        if not container.get("command"):
            raise ManifestError(
                f"{path}: container {container.get('name')} of {kind} {name} "
                "names no command, and images, which may have one, are not run here: add command"
            )


def mounted(manifests: Iterable[Manifest]) -> str:
    """Name the first that brings data of its own, which is mounted by JuiceFS; nothing, if none does."""
    for manifest in manifests:
        spec = manifest.get("spec")
        if manifest.get("kind") == "SampleSet" or (isinstance(spec, dict) and _caches_with(spec, "juicefs")):
            return f"{manifest.get('kind')} {manifest['metadata']['name']}"
    return ""


def refuse_hidden_stores(manifests: Iterable[Manifest]) -> None:
    """Refuse stores behind names that only pods know: JuiceFS looks for them in the machine's network."""
    every = list(manifests)
    services = [key_of(manifest) for manifest in every if manifest.get("kind") == "Service"]
    names = {name for key in services for name in (key.name, f"{key.name}.{key.namespace or 'default'}")}
    for manifest in every:
        for field, host in _stores(manifest):
            if host in names or host.endswith(INSIDE):
                raise ManifestError(
                    f"Secret {key_of(manifest).name} has {field} at {host}, a Service, which only pods reach on one "
                    "machine, and JuiceFS is none: run the store beside it and name the machine's address, or leave "
                    f"{field} out"
                )


def _stores(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Name the hosts that a Secret has JuiceFS look for."""
    if manifest.get("kind") != SECRETS.kind:
        return
    encoded = {"kind": SECRETS.kind, "data": _texts(manifest.get("data"))}
    texts = {name: value.decode(errors="replace") for name, value in values_of(encoded).items()}
    texts |= _texts(manifest.get("stringData"))
    for field in STORES:
        place = texts.get(field, "").partition("://")[2].partition("/")[0].rpartition("@")[2]
        yield from ((field, host.strip("()").partition(":")[0]) for host in place.split(","))


def _texts(value: object) -> dict[str, str]:
    """Take what is text, where there is anything."""
    fields = value.items() if isinstance(value, dict) else ()
    return {str(name): text for name, text in fields if isinstance(text, str)}


def _caches_with(spec: Manifest, engine: str) -> bool:
    """Look at a CacheBackend, and at a job that describes its own."""
    places = [spec, spec.get("cacheBackend")]
    engines = [place.get("cacheEngine") for place in places if isinstance(place, dict)]
    return any(isinstance(found, dict) and engine in found for found in engines)


def _parts(value: object) -> Iterator[Manifest]:
    """Give all that is described inside of something, from the outside in."""
    if isinstance(value, dict):
        yield value
    inner: Iterable[object] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _parts(part)


def _containers(value: object) -> Iterator[Manifest]:
    """Find the containers of all pods that are described anywhere."""
    for part in _parts(value):
        for found in (part.get(name) for name in ("initContainers", "containers")):
            yield from (item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


def ignored(manifests: Iterable[Manifest]) -> list[str]:
    """Name what the manifests ask for and nobody looks at here, each once."""
    found: dict[str, None] = {}
    for manifest in manifests:
        if manifest.get("kind") in POLICIES:
            found["network policies"] = None
            continue
        for part in _parts(manifest.get("spec")):
            found |= dict.fromkeys(_ignored(part))
    return list(found)


def followed(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Leave out what is ignored as a whole."""
    return [manifest for manifest in manifests if manifest.get("kind") not in POLICIES]


def _ignored(part: Manifest) -> Iterator[str]:
    affinity, resources = part.get("affinity"), part.get("resources")
    if part.get("image") and part.get("name"):
        yield "images"
    if isinstance(resources, dict) and any(name in resources for name in RESOURCES):
        yield "resources"
    if any(part.get(name) for name in PLACEMENT) or (isinstance(affinity, dict) and affinity):
        yield "node selectors, affinities, tolerations and priorities"
    if part.get("securityContext"):
        yield "security contexts"
    if part.get("hostNetwork") or part.get("intranet") == "Host":
        yield "the host's network"
    if part.get("lifecycle") and part.get("name"):
        yield "lifecycle hooks"
