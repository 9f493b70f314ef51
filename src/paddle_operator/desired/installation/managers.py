"""The namespace that we are installed in, and a Deployment for each manager, with its account."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.desired.installation.account import PART_OF, Rights, account, metadata

NAMESPACE = "paddle-system"
HEALTH, METRICS = 8081, 8080
USER = 65532
# A little more than the manager takes to end the work that is under way.
GRACE_SECONDS = 15


@dataclass(frozen=True)
class Settings:
    """What all managers of an installation have in common; without `watched` they look at all namespaces."""

    image: str
    pull_policy: str = "IfNotPresent"
    namespace: str = NAMESPACE
    watched: str = ""
    replicas: int = 1


@dataclass(frozen=True)
class Manager:
    """One of the programs: what it is called, its controller, what that may do, and further options of the manager.

    `plane` tells its pods apart, by the label that the original operator's have.
    """

    name: str
    plane: str
    controller: str
    rights: Rights
    options: tuple[str, ...] = ()


def namespace(settings: Settings) -> Manifest:
    """Give our namespace; privileged pods are let in, since SampleSets' servers and the CSI plugin are such pods."""
    found = metadata(Key("", settings.namespace))
    found["labels"] = {**PART_OF, "pod-security.kubernetes.io/enforce": "privileged"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": found}


def objects(manager: Manager, settings: Settings) -> list[Manifest]:
    of = Key(settings.namespace, manager.name)
    return [*account(of, manager.rights, settings.watched), deployment(manager, settings)]


def deployment(manager: Manager, settings: Settings) -> Manifest:
    chosen = {"control-plane": manager.plane}
    labels = {**PART_OF, "app.kubernetes.io/name": manager.name, **chosen}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**metadata(Key(settings.namespace, manager.name)), "labels": labels},
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": chosen},
            "template": {"metadata": {"labels": labels}, "spec": _pod(manager, settings)},
        },
    }


def _pod(manager: Manager, settings: Settings) -> Manifest:
    return {
        "serviceAccountName": manager.name,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(manager, settings)],
    }


def _container(manager: Manager, settings: Settings) -> Manifest:
    return {
        "name": "manager",
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": arguments(manager, settings),
        "env": [{"name": "PADDLE_OPERATOR_IMAGE", "value": settings.image}],
        "ports": [{"name": "health", "containerPort": HEALTH}, {"name": "metrics", "containerPort": METRICS}],
        "startupProbe": {**_probe("/healthz"), "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": {**_probe("/healthz"), "periodSeconds": 20, "timeoutSeconds": 5},
        "readinessProbe": {**_probe("/readyz"), "periodSeconds": 5},
        "resources": {"requests": {"cpu": "100m", "memory": "80Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def arguments(manager: Manager, settings: Settings) -> list[str]:
    watched = [f"--namespace={settings.watched}"] if settings.watched else []
    return [
        "manager",
        f"--controllers={manager.controller}",
        "--leader-elect",
        f"--lease-name={manager.name}",
        f"--health-probe-bind-address=:{HEALTH}",
        f"--metrics-bind-address=:{METRICS}",
        *watched,
        *manager.options,
    ]


def _probe(path: str) -> Manifest:
    return {"httpGet": {"path": path, "port": "health"}}
