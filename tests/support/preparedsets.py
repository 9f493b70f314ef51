"""SampleSets as their controller would leave them: a claim of their name, a place, and a phase."""

from localkube.kubectl import Kubectl, Manifest
from paddle_operator.api.names import sampleset_node_label


def storage(name: str, volume: str) -> tuple[Manifest, Manifest]:
    """Give a volume and a claim of the SampleSet's name: a directory of its own on each node."""
    access = {"accessModes": ["ReadWriteMany"], "storageClassName": "by-hand"}
    place = {"hostPath": {"path": f"/mnt/{name}", "type": "DirectoryOrCreate"}}
    capacity = {"storage": "1Gi"}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {**access, **place, "capacity": capacity},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {**access, "volumeName": volume, "resources": {"requests": capacity}},
        },
    )


def stand(kubectl: Kubectl, name: str, phase: str) -> None:
    """Say where the SampleSet stands."""
    patch = f'--patch={{"status":{{"phase":"{phase}"}}}}'
    kubectl.run("patch", f"sampleset/{name}", "--subresource=status", "--type=merge", patch)


def label(kubectl: Kubectl, namespace: str, name: str, cached_on: dict[str, str]) -> None:
    """Label the nodes as the cache does, each with the partition that it has."""
    for partition, node in cached_on.items():
        kubectl.run("label", "node", node, f"{sampleset_node_label(namespace, name)}={partition}")


def unlabel(kubectl: Kubectl, namespace: str, name: str) -> None:
    kubectl.run("label", "nodes", "--all", f"{sampleset_node_label(namespace, name)}-")
