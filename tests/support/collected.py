"""Waiting for a real garbage collector, which looks for new kinds twice a minute."""

from localkube.kubectl import Kubectl, Manifest


def until_collected(kubectl: Kubectl, owner: Manifest) -> None:
    """Return when what an object of this kind owned goes with it."""
    group = owner["apiVersion"].partition("/")[0]
    place = f"{owner['kind'].lower()}.{group}/{owner['metadata']['name']}"
    kubectl.apply(owner)
    found = kubectl.get(place)
    reference = {name: found[name] for name in ("apiVersion", "kind")}
    reference |= {name: found["metadata"][name] for name in ("name", "uid")}
    metadata = {"name": f"owned-by-a-{owner['kind'].lower()}", "ownerReferences": [reference]}
    kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    kubectl.run("delete", place)
    kubectl.wait("delete", f"configmap/{metadata['name']}")
