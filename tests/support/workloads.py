"""Small Kubernetes objects that tests are made of."""

from typing import Any

Manifest = dict[str, Any]
TESTBOX = "localhost/testbox:1"
# One base for all images of the tests: making a second one takes most of a minute.
BASE = (
    "bindfs",
    "busybox-static",
    "ca-certificates",
    "fuse3",
    "libgomp1",
    "python3",
    "python3-grpcio",
    "python3-venv",
)


def container(*command: str, **fields: Any) -> Manifest:  # noqa: ANN401 any field of a container
    return {"name": "main", "image": TESTBOX, "imagePullPolicy": "IfNotPresent", "command": list(command), **fields}


def pod_spec(*command: str, node: str | None = None, **fields: Any) -> Manifest:  # noqa: ANN401 any field of a pod
    """A pod that ends at once when asked; `node` pins it there through the scheduler."""
    spec: Manifest = {"containers": [container(*command)], "terminationGracePeriodSeconds": 0, **fields}
    if node is not None:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return spec


def pod(name: str, spec: Manifest, **labels: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, **labels}},
        "spec": spec,
    }


def sleeping_pod(name: str, node: str | None = None, **fields: Any) -> Manifest:  # noqa: ANN401 any field of a pod
    return pod(name, pod_spec("sleep", "infinity", node=node, **fields))


def server_pod(name: str, node: str | None = None) -> Manifest:
    spec = pod_spec("python3", "/opt/testbox/serve.py", "8080", node=node)
    spec["containers"][0]["readinessProbe"] = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    return pod(name, spec)


def service(name: str, app: str, port: int = 80, **fields: Any) -> Manifest:  # noqa: ANN401 any field of a service
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": app}, "ports": [{"port": port, "targetPort": 8080}], **fields},
    }


def replicated(kind: str, name: str, replicas: int, spec: Manifest, **fields: Any) -> Manifest:  # noqa: ANN401
    """A Deployment or StatefulSet of one template."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
            **fields,
        },
    }


def one_per_node(app: str) -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
