"""A pod of a job as it was seen: what it does, and why it does not."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from paddle_operator.api.manifest import Manifest, annotations_of, labels_of
from paddle_operator.api.names import (
    ANNOTATION_ATTEMPT,
    ANNOTATION_ROLE,
    ANNOTATION_TEMPLATE_HASH,
    LABEL_REPLICA_TYPE,
    LABEL_RESOURCE_TYPE,
)

COORDINATOR = "coord-paddle"
NEVER = "Never"
LONGEST_QUOTE = 500


class Bucket(StrEnum):
    """The counter of a role's status that a pod is counted in."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    UNKNOWN = "unknown"

    @property
    def is_over(self) -> bool:
        return self in (Bucket.FAILED, Bucket.SUCCEEDED)


@dataclass(frozen=True)
class ObservedPod:
    """`revision` is empty on pods that the original operator made; `gone_by`: somebody deleted it, with time to end."""

    manifest: Manifest
    name: str
    role: str
    bucket: Bucket
    address: str
    revision: str
    attempt: int
    node: str
    gone_by: datetime | None

    @property
    def stopping(self) -> bool:
        return self.gone_by is not None


def observed_pod(manifest: Manifest) -> ObservedPod:
    annotations = annotations_of(manifest)
    attempt = annotations.get(ANNOTATION_ATTEMPT, "")
    deleted = manifest["metadata"].get("deletionTimestamp")
    return ObservedPod(
        manifest=manifest,
        name=manifest["metadata"]["name"],
        role=_role(labels_of(manifest)) or annotations.get(ANNOTATION_ROLE, ""),
        bucket=bucket_of(manifest.get("status") or {}, (manifest.get("spec") or {}).get("restartPolicy")),
        address=str((manifest.get("status") or {}).get("podIP") or ""),
        revision=annotations.get(ANNOTATION_TEMPLATE_HASH, ""),
        attempt=int(attempt) if attempt.isdecimal() else 0,
        node=str((manifest.get("spec") or {}).get("nodeName") or ""),
        gone_by=None if deleted is None else msgspec.convert(deleted, datetime),
    )


def claims_of(pod: ObservedPod) -> frozenset[str]:
    """Name the claims that it mounts."""
    volumes = (pod.manifest.get("spec") or {}).get("volumes") or []
    claims = (found.get("persistentVolumeClaim") or {} for found in volumes)
    return frozenset(str(claim["claimName"]) for claim in claims if "claimName" in claim)


def _role(labels: dict[str, str]) -> str:
    return labels.get(LABEL_RESOURCE_TYPE) or labels.get(LABEL_REPLICA_TYPE) or ""


def bucket_of(status: Manifest, restart_policy: str | None = None) -> Bucket:
    match status.get("phase"):
        case "Failed":
            return Bucket.FAILED
        case "Succeeded":
            return Bucket.SUCCEEDED
        case "Unknown":
            return Bucket.UNKNOWN
        case "Running":
            again = restart_policy != NEVER
            ready = _is_ready(status.get("containerStatuses") or [], started_again=again)
            return Bucket.RUNNING if ready else Bucket.STARTING
    waits = any(_runs(found) for found in status.get("initContainerStatuses") or [] if found.get("name") == COORDINATOR)
    return Bucket.STARTING if waits else Bucket.PENDING


def _is_ready(containers: list[Manifest], *, started_again: bool) -> bool:
    """Tell whether all run; one that has ended well beside them does no harm.

    Nor does one that has failed for good: a kubelet tells of it a moment before it says that the pod has failed.
    """
    return bool(containers) and all(
        (found.get("ready") and _runs(found))
        or _ended(found).get("exitCode") == 0
        or (bool(_ended(found)) and not started_again)
        for found in containers
    )


def _runs(container: Manifest) -> bool:
    return "running" in (container.get("state") or {})


def _ended(container: Manifest) -> Manifest:
    return (container.get("state") or {}).get("terminated") or {}


def _containers(pod: ObservedPod) -> list[Manifest]:
    status = pod.manifest.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def waits_since(pod: ObservedPod) -> datetime | None:
    """Give the time since which it waits for its peers; None if it does not."""
    told = (pod.manifest.get("status") or {}).get("initContainerStatuses") or []
    begun = next((found for found in told if found.get("name") == COORDINATOR and _runs(found)), None)
    since = None if begun is None else begun["state"]["running"].get("startedAt")
    return None if since is None else msgspec.convert(since, datetime)


def ended_at(pod: ObservedPod) -> datetime | None:
    """Give the time at which its last container ended, as far as its node told."""
    told = [_ended(container).get("finishedAt") for container in _containers(pod)]
    return max((msgspec.convert(time, datetime) for time in told if time), default=None)


def restarts(pod: ObservedPod) -> int:
    """Count how often its node started its containers again."""
    found = (pod.manifest.get("status") or {}).get("containerStatuses") or []
    return sum(int(container.get("restartCount") or 0) for container in found)


def created_at(pod: ObservedPod) -> datetime | None:
    told = pod.manifest["metadata"].get("creationTimestamp")
    return None if told is None else msgspec.convert(told, datetime)


def exit_codes(pod: ObservedPod, container: str) -> tuple[int, ...]:
    """Give the code that this container ended with, or where there is none of that name those of all."""
    found = (pod.manifest.get("status") or {}).get("containerStatuses") or []
    named = [one for one in found if one.get("name") == container] or found
    return tuple(_ended(one)["exitCode"] for one in named if "exitCode" in _ended(one))


def why_failed(pod: ObservedPod) -> str:
    """Say what is known without quoting what the container printed, which may hold secrets."""
    for container in _containers(pod):
        ended = _ended(container)
        if ended.get("exitCode"):
            reason = ended.get("reason") or "Error"
            return f"{pod.name} failed: container {container.get('name')} ended with {ended['exitCode']} ({reason})"
    status = pod.manifest.get("status") or {}
    words = quoted(status)
    return f"{pod.name} failed: {words}" if words else f"{pod.name} failed"


def quoted(told: Manifest) -> str:
    """Give a reason and a message as they were told, as much as a reader can hold."""
    return ": ".join(str(told[field]) for field in ("reason", "message") if told.get(field))[:LONGEST_QUOTE]


def why_not_running(pod: ObservedPod) -> str:
    """Say what the scheduler or the kubelet wait for; nothing if they did not say."""
    if pod.stopping:
        return "it is being deleted"
    status = pod.manifest.get("status") or {}
    for container in _containers(pod):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            return quoted(waiting)
    for found in status.get("conditions") or []:
        if found.get("type") == "PodScheduled" and found.get("status") == "False":
            return quoted({"message": found.get("message") or found.get("reason")})
    return "its node does not answer" if pod.bucket is Bucket.UNKNOWN else ""
