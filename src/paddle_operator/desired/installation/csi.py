"""The CSI node plugin on every node: its driver, its account and its DaemonSet."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import CSI_DRIVER

NAME = "paddle-csi-node"
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "paddle-operator"}


@dataclass(frozen=True)
class Settings:
    """`inject`: after a client died, mend mounts inside of running containers too, which is a strong power."""

    image: str
    namespace: str = "paddle-system"
    kubelet_directory: str = "/var/lib/kubelet"
    inject: bool = True
    pull_policy: str = "IfNotPresent"


def objects(settings: Settings) -> list[Manifest]:
    return [driver(), account(settings), daemon_set(settings)]


def driver() -> Manifest:
    """Give the driver; the kubelet asks again from time to time, which brings changed secrets."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": CSI_DRIVER, "labels": LABELS},
        "spec": {
            "attachRequired": False,
            "podInfoOnMount": True,
            "fsGroupPolicy": "None",
            "requiresRepublish": True,
            "volumeLifecycleModes": ["Persistent"],
        },
    }


def account(settings: Settings) -> Manifest:
    """Give an account without any right: the plugin never asks the API server."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": settings.namespace, "labels": LABELS},
        "automountServiceAccountToken": False,
    }


def daemon_set(settings: Settings) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": settings.namespace, "labels": LABELS},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": LABELS}, "spec": _pod(settings)},
        },
    }


def _pod(settings: Settings) -> Manifest:
    """Give a pod that sees the node's processes, by which it reaches the node's mounts, and runs before all others."""
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "hostPID": True,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "terminationGracePeriodSeconds": 45,
        "containers": [_container(settings)],
        "volumes": [
            {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for name, path in _directories(settings).items()
        ],
    }


def _container(settings: Settings) -> Manifest:
    directories = _directories(settings)
    arguments = ["csi-node", f"--kubelet-dir={settings.kubelet_directory}"]
    return {
        "name": "csi-node",
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": arguments if settings.inject else [*arguments, "--no-inject"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": True, "runAsUser": 0, "runAsGroup": 0, "readOnlyRootFilesystem": True},
        "readinessProbe": {
            "exec": {"command": ["test", "-S", f"{directories['registration']}/{CSI_DRIVER}-reg.sock"]},
            "periodSeconds": 5,
        },
        "resources": {"requests": {"cpu": "20m", "memory": "80Mi"}, "limits": {"memory": "300Mi"}},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in directories.items()],
    }


def _directories(settings: Settings) -> dict[str, str]:
    """Give where the kubelet looks for plugins, and our own; what is mounted for pods is in neither."""
    return {
        "plugin": f"{settings.kubelet_directory}/plugins/{CSI_DRIVER}",
        "registration": f"{settings.kubelet_directory}/plugins_registry",
    }
