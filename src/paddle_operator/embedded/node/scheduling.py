"""Which pods run here: all that are to run anywhere, but for those that must not be beside each other."""

from paddle_operator.api.manifest import Key, Manifest, key_of, labels_of, uid_of
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.embedded.node.machine import NAME
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind

NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ENDED = ("Succeeded", "Failed")
AGAIN = 1.0
# What a node must say of itself, and nobody asks this one.
UNTOLD = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage"),
    *("containerRuntimeVersion", "kubeProxyVersion"),
)


def node(architecture: str, version: str) -> Manifest:
    """Give this machine as a node: nothing is measured out on it, so it has room for everything."""
    return {
        "metadata": {
            "name": NAME,
            "labels": {
                "kubernetes.io/hostname": NAME,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": architecture,
            },
        },
        "spec": {},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "this machine is ready"}
            ],
            "nodeInfo": dict.fromkeys(UNTOLD, "")
            | {"kubeletVersion": version, "operatingSystem": "linux", "architecture": architecture},
        },
    }


def controller() -> Controller:
    return Controller("scheduling", (Trigger(PODS),), reconcile, workers=1)


async def reconcile(world: World, key: Key) -> Outcome:
    pod = world.stores[PODS].get(key)
    if pod is None or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
        return Done()
    if pod["spec"].get("schedulingGates"):
        return Done()
    rival = next((other for other in world.stores[PODS] if repels(pod, other)), None)
    try:
        if rival is None:
            await world.client.patch(PODS, key, {"metadata": {"uid": uid_of(pod)}, "spec": {"nodeName": NAME}})
            return Done()
        await world.client.patch(PODS, key, {"status": unschedulable(pod, rival)}, subresource="status")
    except (errors.NotFoundError, errors.ConflictError, errors.InvalidError):
        return Done()
    return Done(look_again=AGAIN)


def repels(pod: Manifest, other: Manifest) -> bool:
    """Tell whether the pod must not be on the node of another that is there."""
    here = other["spec"].get("nodeName") == NAME and (other.get("status") or {}).get("phase") not in ENDED
    if not here or uid_of(pod) == uid_of(other):
        return False
    rules = ((pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}).get(REQUIRED) or []
    return any(_is_meant(rule, key_of(pod).namespace, other) for rule in rules)


def _is_meant(rule: Manifest, namespace: str, other: Manifest) -> bool:
    if key_of(other).namespace not in (rule.get("namespaces") or [namespace]):
        return False
    selector = rule.get("labelSelector") or {}
    labels = labels_of(other)
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(
        _matches(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _matches(expression: Manifest, labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
    return key not in labels


def unschedulable(pod: Manifest, rival: Manifest) -> Manifest:
    message = f"0/1 nodes are available: {key_of(rival).name} is there, and the two must be on different nodes"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    known = (pod.get("status") or {}).get("conditions") or []
    return {"conditions": [*(found for found in known if found["type"] != condition["type"]), condition]}
