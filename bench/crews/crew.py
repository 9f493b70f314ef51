"""A crew: a kind made for measuring, with one ConfigMap and three pods each, the same for both managers."""

import sys
from typing import Any

Manifest = dict[str, Any]

GROUP, VERSION, PLURAL, KIND = "bench.example.org", "v1", "crews", "Crew"
LABEL = "bench.example.org/crew"
MERGE = "application/merge-patch+json"
PODS = 3
# Both wait this long for the pods of a crew to stop changing before they count them.
SETTLE = 0.15

CRD: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "crew", "kind": KIND},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"pods": {"type": "integer"}, "text": {"type": "string"}},
                            },
                            # kopf keeps notes of its own in here.
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def crew(name: str, namespace: str) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pods": PODS, "text": f"the settings of {name}"},
    }


def metadata(of: Manifest, suffix: str) -> Manifest:
    name = of["metadata"]["name"]
    return {"name": f"{name}-{suffix}", "namespace": of["metadata"]["namespace"], "labels": {LABEL: name}}


def config_map(of: Manifest) -> Manifest:
    made = metadata(of, "settings")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": made, "data": {"text": of["spec"]["text"]}}


def pods(of: Manifest) -> list[Manifest]:
    return [pod(of, number) for number in range(of["spec"]["pods"])]


def pod(of: Manifest, number: int) -> Manifest:
    """Build a pod as a training job has them; nobody serves its scheduler, so it stays where it is."""
    container = {
        "name": "worker",
        "image": "localhost/worker:none",
        "command": ["python3", "-m", "worker"],
        "env": [
            {"name": "RANK", "value": str(number)},
            {"name": "WORLD_SIZE", "value": str(of["spec"]["pods"])},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "envFrom": [{"configMapRef": {"name": f"{of['metadata']['name']}-settings"}}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    spec = {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(of, f"worker-{number}"), "spec": spec}


def status(of: Manifest, present: int) -> Manifest:
    return {
        "phase": "Complete" if present == of["spec"]["pods"] else "Pending",
        "pods": present,
        "observedGeneration": of["metadata"]["generation"],
    }


def is_complete(observed: Manifest) -> bool:
    return (observed.get("status") or {}).get("phase") == "Complete"


class RollCall:
    """Says on standard output, once for each crew, that it has been looked at to the end."""

    def __init__(self) -> None:
        self._called: set[str] = set()

    def call(self, name: str) -> None:
        if name not in self._called:
            self._called.add(name)
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
