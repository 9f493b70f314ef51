"""As much of Volcano as a test needs: its PodGroups, with nobody who schedules them."""

from paddle_operator.api.manifest import Manifest

NAME = "podgroups.scheduling.volcano.sh"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
POD_GROUPS: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "scheduling.volcano.sh",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup"},
        "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
    },
}
