"""The pod that empties the caches which a server left on a node, and forgets what was remembered of them."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.sampleset.naming import digest, selector, unowned_metadata
from paddle_operator.desired.sampleset.servers import kept_on_node
from paddle_operator.desired.sampleset.snapshot import Snapshot

CONTAINER = "clear"
RESOURCES = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}
# Root, whose blocks are, and nothing else of what it may do.
SECURITY = {
    "runAsUser": 0,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def cleaner_name(snapshot: Snapshot, node: str) -> str:
    metadata = snapshot.sample_set.metadata
    return f"{metadata.name}-clear-{digest(metadata.uid, node)[:10]}"


def cleaner(snapshot: Snapshot, node: str) -> Manifest:
    """Give the pod. At the end of a set it is in our own namespace: in one that ends, too, nobody can make any."""
    sample_set, settings = snapshot.sample_set, snapshot.settings
    namespace = (settings.namespace if snapshot.ends else "") or sample_set.metadata.namespace
    on_node = kept_on_node(snapshot)
    container = {
        "name": CONTAINER,
        "image": settings.runtime_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddle-operator", "clear-cache"],
        "args": on_node.arguments,
        "resources": RESOURCES,
        "securityContext": SECURITY,
        "volumeMounts": on_node.mounts,
    }
    return {
        "metadata": unowned_metadata(sample_set, cleaner_name(snapshot, node), namespace),
        "spec": {
            "restartPolicy": "OnFailure",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "affinity": affinity(snapshot, node),
            # What keeps others from the node may be why the server left it.
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "volumes": on_node.volumes,
        },
    }


def affinity(snapshot: Snapshot, node: str) -> Manifest:
    """Go to this node, and never beside a server of the set: the scheduler lets none come while this one is there."""
    sample_set = snapshot.sample_set
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    apart = {
        "labelSelector": {"matchLabels": selector(sample_set)},
        "namespaces": [sample_set.metadata.namespace],
        "topologyKey": "kubernetes.io/hostname",
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {required: {"nodeSelectorTerms": [here]}}, "podAntiAffinity": {required: [apart]}}
