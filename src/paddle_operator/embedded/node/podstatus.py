"""A pod's status, as a kubelet would write it, from the states of its containers; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from paddle_operator.api.manifest import Manifest


class Condition(StrEnum):
    """What is said of a pod, in the order in which it comes true."""

    SCHEDULED = "PodScheduled"
    INITIALIZED = "Initialized"
    CONTAINERS_READY = "ContainersReady"
    READY = "Ready"


@dataclass
class ContainerState:
    """How a container stands, and how its last run ended; `state` is as Kubernetes writes it.

    A sidecar is an init container that runs on beside the main ones; `begun`: it has started at least once.
    """

    name: str
    image: str
    state: Manifest
    last: Manifest = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0
    identity: str = ""
    sidecar: bool = False
    begun: bool = False

    @property
    def exit_code(self) -> int | None:
        ended = self.state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    @property
    def is_past(self) -> bool:
        """Tell of an init container whether the next may begin."""
        return self.begun if self.sidecar else self.exit_code == 0

    @property
    def runs(self) -> bool:
        return "running" in self.state

    def written(self) -> Manifest:
        return {
            "name": self.name,
            "image": self.image,
            "imageID": self.image,
            "containerID": self.identity,
            "ready": self.ready,
            "started": self.started,
            "restartCount": self.restarts,
            "state": self.state,
            "lastState": self.last,
        }


def time_text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def waiting(reason: str, message: str = "") -> Manifest:
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def running(since: datetime) -> Manifest:
    return {"running": {"startedAt": time_text(since)}}


def terminated(code: int, began: datetime, ended: datetime, message: str = "") -> Manifest:
    reason = "Completed" if code == 0 else "Error"
    found: Manifest = {
        "exitCode": code,
        "reason": reason,
        "startedAt": time_text(began),
        "finishedAt": time_text(ended),
    }
    return {"terminated": {**found, **({"message": message} if message else {})}}


def phase(policy: str, first: Sequence[ContainerState], main: Sequence[ContainerState]) -> str:
    """Give the pod's phase by its restart policy."""
    once = [state for state in first if not state.sidecar]
    beside = any(state.runs for state in first if state.sidecar)
    if any(state.exit_code for state in once) and policy == "Never":
        return "Running" if beside else "Failed"
    if any(state.exit_code != 0 for state in once):
        return "Pending"
    if all(state.exit_code is not None for state in main) and policy != "Always" and not beside:
        if all(state.exit_code == 0 for state in main):
            return "Succeeded"
        return "Failed" if policy == "Never" else "Running"
    begun = any(state.runs or state.exit_code is not None or state.last for state in main)
    return "Running" if begun else "Pending"


def conditions(
    before: Sequence[Manifest], held: Mapping[Condition, tuple[bool, str, str]], now: datetime
) -> list[Manifest]:
    """Give the conditions; one that did not change keeps its time."""
    known = {found["type"]: found for found in before}
    written = []
    for name, (holds, reason, message) in held.items():
        status = "True" if holds else "False"
        was = known.get(name.value, {})
        since = was.get("lastTransitionTime") if was.get("status") == status else None
        one = {"type": name.value, "status": status, "lastTransitionTime": since or time_text(now)}
        if reason:
            one["reason"] = reason
        if message:
            one["message"] = message
        written.append(one)
    return written


def held(
    phase: str, first: Sequence[ContainerState], main: Sequence[ContainerState]
) -> dict[Condition, tuple[bool, str, str]]:
    over = "PodCompleted" if phase == "Succeeded" else ""
    uninitialized = [state.name for state in first if not state.is_past and not over]
    lasting = [*(state for state in first if state.sidecar), *main]
    unready = [state.name for state in lasting if not state.ready]
    words = f"containers with unready status: [{' '.join(unready)}]" if unready and not over else ""
    reason = over or ("ContainersNotReady" if unready else "")
    incomplete = f"containers with incomplete status: [{' '.join(uninitialized)}]" if uninitialized else ""
    return {
        Condition.INITIALIZED: (
            not uninitialized,
            over or ("ContainersNotInitialized" if uninitialized else ""),
            incomplete,
        ),
        Condition.READY: (not unready and phase == "Running", reason, words),
        Condition.CONTAINERS_READY: (not unready and phase == "Running", reason, words),
        Condition.SCHEDULED: (True, "", ""),
    }
