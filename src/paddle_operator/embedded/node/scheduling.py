"""Which pods run here: all that are to run anywhere, but for a second server of a data set, which takes a node."""

from paddle_operator.api.manifest import Key, Manifest, key_of, labels_of, uid_of
from paddle_operator.api.names import LABEL_SAMPLESET
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.embedded.node.machine import NAME
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind

NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
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
    """Tell whether both serve one data set, whose servers share no node, and the other is here or comes first."""
    (namespace, name), (another, rival) = key_of(pod), key_of(other)
    served = labels_of(pod).get(LABEL_SAMPLESET)
    if served is None or (namespace, served) != (another, labels_of(other).get(LABEL_SAMPLESET)) or name == rival:
        return False
    has_ended = (other.get("status") or {}).get("phase") in ENDED
    return not has_ended and (bool(other["spec"].get("nodeName")) or rival < name)


def unschedulable(pod: Manifest, rival: Manifest) -> Manifest:
    message = f"0/1 nodes are available: {key_of(rival).name} is there, and each server takes a node"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    known = (pod.get("status") or {}).get("conditions") or []
    return {"conditions": [*(found for found in known if found["type"] != condition["type"]), condition]}
