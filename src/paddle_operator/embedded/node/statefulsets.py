"""StatefulSets: as many pods as they ask for, each with its number and of the newest template."""

import copy
import hashlib

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of, labels_of, uid_of
from paddle_operator.control.controller import SETTLE, Controller, Trigger, World, key_of_owner
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.control.store import by_owner
from paddle_operator.embedded.node.hosts import is_ready
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind, Preconditions

STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet")
REVISION, INDEX = "controller-revision-hash", "apps.kubernetes.io/pod-index"
OWNER = "stateful set"
ENDED = ("Succeeded", "Failed")


def controller() -> Controller:
    pods = Trigger(PODS, key_of_owner(STATEFUL_SETS), settle=SETTLE, indexes={OWNER: by_owner})
    return Controller("statefulsets", (Trigger(STATEFUL_SETS), pods), reconcile, workers=2)


async def reconcile(world: World, key: Key) -> Outcome:
    found = world.stores[STATEFUL_SETS].get(key)
    if found is None:
        return Done()
    pods = {key_of(pod).name: pod for pod in world.stores[PODS].find(OWNER, uid_of(found))}
    wanted = {} if "deletionTimestamp" in found["metadata"] else _wanted(found)
    try:
        for name, pod in wanted.items():
            if name not in pods:
                await world.client.create(PODS, pod)
        for name, pod in pods.items():
            if "deletionTimestamp" not in pod["metadata"] and _is_surplus(pod, wanted.get(name)):
                await world.client.delete(PODS, key_of(pod), Preconditions(uid_of(pod)))
        if (status := _status(found, list(pods.values()))) != found.get("status"):
            await world.client.patch(STATEFUL_SETS, key, {"status": status}, subresource="status")
    except (errors.NotFoundError, errors.ConflictError, errors.AlreadyExistsError):
        return Done(look_again=0.2)
    return Done()


def _wanted(found: Manifest) -> dict[str, Manifest]:
    count = found["spec"].get("replicas")
    return {
        f"{key_of(found).name}-{number}": _pod(found, number) for number in range(1 if count is None else int(count))
    }


def _is_surplus(pod: Manifest, wanted: Manifest | None) -> bool:
    """Tell whether a pod must go: nobody asks for it, it is of an older template, or it has ended."""
    if wanted is None or (pod.get("status") or {}).get("phase") in ENDED:
        return True
    return labels_of(pod).get(REVISION) != labels_of(wanted).get(REVISION)


def revision(found: Manifest) -> str:
    template = msgspec.json.encode(found["spec"]["template"], order="sorted")
    return f"{key_of(found).name}-{hashlib.sha256(template).hexdigest()[:10]}"


def _pod(found: Manifest, number: int) -> Manifest:
    template = copy.deepcopy(found["spec"]["template"])
    metadata, key = template.get("metadata") or {}, key_of(found)
    name = f"{key.name}-{number}"
    own = {REVISION: revision(found), INDEX: str(number), "statefulset.kubernetes.io/pod-name": name}
    owner = {
        **STATEFUL_SETS.identity,
        "name": key.name,
        "uid": uid_of(found),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    place = {"hostname": name, "subdomain": found["spec"].get("serviceName") or ""}
    return {
        "metadata": {
            "name": name,
            "namespace": key.namespace,
            "labels": {**(metadata.get("labels") or {}), **own},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], **place},
    }


def _status(found: Manifest, pods: list[Manifest]) -> Manifest:
    current = [pod for pod in pods if labels_of(pod).get(REVISION) == revision(found)]
    ready = sum(map(is_ready, pods))
    return {
        "observedGeneration": found["metadata"].get("generation", 0),
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "currentReplicas": len(current),
        "updatedReplicas": len(current),
        "currentRevision": revision(found),
        "updateRevision": revision(found),
    }
