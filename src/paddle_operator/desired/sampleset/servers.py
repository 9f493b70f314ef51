"""The runtime servers: a StatefulSet with a pod for each partition, their service, and the token that they ask for."""

import base64
from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.sampleset.naming import (
    key_of_set,
    labels,
    metadata,
    runtime_name,
    selector,
    service_name,
)
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.sources import mounts as mounts_of_sources
from paddle_operator.desired.sampleset.sources import volume_secret

CONTAINER = "runtime"
PORT = 7716
PORT_NAME = "runtime"
TOKEN_KEY = "token"  # noqa: S105  # the name of a key
TOKEN_DIRECTORY = "/etc/paddle-operator/runtime"  # noqa: S105  # a directory
METADATA_DIRECTORY = "/etc/paddle-operator/metadata"
SPOOL_DIRECTORY = "/var/spool/paddle-operator"
CACHE_DIRECTORY = "/cache"
RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "4", "memory": "2Gi"}}
# Root without its powers, but for those that it takes to write and remove files of any owner in the data set.
SECURITY = {
    "runAsUser": 0,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# A node that does not answer gives its partition to another one after so long.
AWAY_SECONDS = 60
AWAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def token_secret(snapshot: Snapshot) -> Manifest:
    """Give the Secret to create once: nobody but the servers and the manager reads it."""
    sample_set = snapshot.sample_set
    value = base64.b64encode(snapshot.token.encode()).decode()
    return {
        "metadata": metadata(sample_set, runtime_name(sample_set)),
        "type": "Opaque",
        "data": {TOKEN_KEY: value},
    }


def service(sample_set: SampleSet) -> Manifest:
    """Give each server a name, also while it is not ready."""
    return {
        "metadata": metadata(sample_set, service_name(sample_set)),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector(sample_set),
            "ports": [{"name": "service", "port": PORT, "targetPort": PORT_NAME, "protocol": "TCP"}],
        },
    }


def stateful_set(snapshot: Snapshot, replicas: int) -> Manifest:
    sample_set = snapshot.sample_set
    return {
        "metadata": metadata(sample_set, runtime_name(sample_set)),
        "spec": {
            "replicas": replicas,
            "serviceName": service_name(sample_set),
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector(sample_set)},
            "template": {
                "metadata": {
                    "labels": {**labels(sample_set), **selector(sample_set)},
                    "annotations": {names.ANNOTATION_SECRET_VERSION: secret_version(snapshot)},
                },
                "spec": pod_spec(snapshot),
            },
        },
    }


def secret_version(snapshot: Snapshot) -> str:
    """Give the version that the volume's Secret has; when it is gone, the last that is known, so that no pod ends."""
    view = snapshot.secrets.get(volume_secret(snapshot.sample_set))
    if view is not None and view.version:
        return view.version
    template = ((snapshot.stateful_set or {}).get("spec") or {}).get("template") or {}
    return str(((template.get("metadata") or {}).get("annotations") or {}).get(names.ANNOTATION_SECRET_VERSION, ""))


@dataclass(frozen=True)
class OnNode:
    """What a server keeps on its node, for its pod and for one that clears it away."""

    volumes: list[Manifest]
    mounts: list[Manifest]
    arguments: list[str]


def kept_on_node(snapshot: Snapshot) -> OnNode:
    caches = dict(enumerate(snapshot.engine.cache_directories(snapshot.sample_set)))
    paths = {f"cache-{number}": path for number, path in caches.items()}
    paths["spool"] = snapshot.engine.spool_directory(snapshot.sample_set)
    inside = {f"cache-{number}": f"{CACHE_DIRECTORY}/{number}" for number in caches} | {"spool": SPOOL_DIRECTORY}
    return OnNode(
        [{"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for name, path in paths.items()],
        [{"name": name, "mountPath": path} for name, path in inside.items()],
        [*(f"--cache-dirs={CACHE_DIRECTORY}/{number}" for number in caches), f"--spool={SPOOL_DIRECTORY}"],
    )


def pod_spec(snapshot: Snapshot) -> Manifest:
    sample_set, engine = snapshot.sample_set, snapshot.engine
    data, data_mount = engine.data(sample_set)
    on_node = kept_on_node(snapshot)
    sources = mounts_of_sources(sample_set)
    metadata = metadata_volumes(snapshot)
    volumes = [
        data,
        *on_node.volumes,
        *({"name": found.name, **found.volume} for found in sources),
        {"name": "token", "secret": {"secretName": runtime_name(sample_set), "defaultMode": 0o400}},
        *metadata,
    ]
    mounts = [
        data_mount,
        *on_node.mounts,
        *({"name": found.name, "mountPath": found.directory, "readOnly": True} for found in sources),
        {"name": "token", "mountPath": TOKEN_DIRECTORY, "readOnly": True},
        *({"name": found["name"], "mountPath": METADATA_DIRECTORY, "readOnly": True} for found in metadata),
    ]
    arguments = [
        f"--port={PORT}",
        "--pod-uid=$(POD_UID)",
        f"--mount-path={data_mount['mountPath']}",
        *on_node.arguments,
        *(f"--source-dirs={found.directory}" for found in sources),
        f"--token-file={TOKEN_DIRECTORY}/{TOKEN_KEY}",
        *(f"--metadata-file={METADATA_DIRECTORY}/{engine.metadata_key}" for _ in metadata),
    ]
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "affinity": affinity(sample_set),
        "tolerations": tolerations(sample_set),
        "containers": [container(snapshot.settings.runtime_image, arguments, mounts)],
        "volumes": volumes,
    }


def metadata_volumes(snapshot: Snapshot) -> list[Manifest]:
    """Give servers where the metadata is, and no other key of the Secret; a pod has none of another namespace."""
    secret, key = volume_secret(snapshot.sample_set), snapshot.engine.metadata_key
    if secret.namespace != snapshot.sample_set.metadata.namespace:
        return []
    described = {
        "secretName": secret.name,
        "items": [{"key": key, "path": key}],
        "defaultMode": 0o400,
        "optional": True,
    }
    return [{"name": "metadata", "secret": described}]


def container(image: str, arguments: list[str], mounts: list[Manifest]) -> Manifest:
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddle-operator", "runtime-server"],
        "args": arguments,
        "env": [{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": probe("/readyz", 5),
        "livenessProbe": probe("/healthz", 20),
        "resources": RESOURCES,
        "securityContext": SECURITY,
        "volumeMounts": mounts,
    }


def probe(path: str, seconds: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": PORT_NAME, "scheme": "HTTP"},
        "periodSeconds": seconds,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }


def affinity(sample_set: SampleSet) -> Manifest:
    """Keep to the nodes that the user names, put no two servers of the set on one, and go back to where a cache is."""
    apart = {
        "labelSelector": {"matchLabels": selector(sample_set)},
        "topologyKey": "kubernetes.io/hostname",
    }
    label = names.sampleset_node_label(*key_of_set(sample_set))
    near = {"weight": 100, "preference": {"matchExpressions": [{"key": label, "operator": "Exists"}]}}
    given = sample_set.spec.node_affinity or {}
    return {
        "nodeAffinity": {**given, PREFERRED: [*(given.get(PREFERRED) or []), near]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
    }


def tolerations(sample_set: SampleSet) -> list[Manifest]:
    """Keep the user's, and leave a node that is away soon, unless the user says otherwise of it."""
    given = list(sample_set.spec.tolerations)
    known = {found.get("key") for found in given}
    ours = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": AWAY_SECONDS}
        for key in AWAY
        if not known & {key, None, ""}
    ]
    return [*given, *ours]
