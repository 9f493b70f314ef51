"""The pods below what is followed: how each stands, what it printed last or waits for, and which failed first."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, uid_of, version_of
from paddle_operator.embedded.apiserver.storage import Change
from paddle_operator.embedded.node import containers
from paddle_operator.embedded.session import Session
from paddle_operator.kube.events import EVENTS, EventType
from paddle_operator.kube.request import PODS

# Steps from a pod to what is followed: it is that itself, or it is owned by it.
DIRECTLY = 1


@dataclass(frozen=True)
class Worker:
    """A pod: how it stands, and what it printed last; one that is stuck waits for somebody to do something."""

    name: str
    phase: str
    line: str
    is_stuck: bool


@dataclass(frozen=True)
class Failures:
    """The code of the first container of each job that failed by itself, also when its pod is long gone."""

    _codes: dict[str, int] = field(default_factory=dict)

    def hear(self, change: Change) -> None:
        pod = change.after
        if change.kind != PODS or pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        if code := failed_with(pod):
            owner = controller_of(pod)
            self._codes.setdefault(uid_of(pod) if owner is None else str(owner.get("uid")), code)

    def code(self, uid: str) -> int:
        """Give the code of what did not end well; 1, if no container of it failed."""
        return self._codes.get(uid, 1)


def failed_with(pod: Manifest) -> int:
    """Give the code of the container of a pod that failed first; 0, if none did."""
    ended = [(found.get("state") or {}).get("terminated") or {} for found in _statuses(pod)]
    failed = sorted((found for found in ended if found.get("exitCode")), key=lambda found: str(found.get("finishedAt")))
    return int(failed[0]["exitCode"]) if failed else 0


def _statuses(pod: Manifest) -> list[Manifest]:
    """Give what is told of all containers of a pod, in the order in which they begin."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def workers(session: Session, followed: Collection[str]) -> Iterator[Worker]:
    """Give the pods of what has these uids; those further below, as a data set's servers, only if they are stuck."""
    for pod in session.server.objects.storage.items(PODS):
        distance = next((steps for steps, uid in enumerate(_lineage(session, pod)) if uid in followed), None)
        trouble = _trouble(session, pod)
        if distance is not None and (trouble or distance <= DIRECTLY):
            line = trouble or _last_line(session, pod)
            yield Worker(key_of(pod).name, str((pod.get("status") or {}).get("phase")), line, bool(trouble))


def _lineage(session: Session, manifest: Manifest) -> Iterator[str]:
    """Give the uid of an object, and of what it belongs to, upwards."""
    objects = session.server.objects
    yield uid_of(manifest)
    owner = controller_of(manifest) or {}
    resource = objects.catalogue.of_kind(owner.get("apiVersion", ""), owner.get("kind", ""))
    if resource is not None:
        above = objects.storage.find(resource.kind, Key(key_of(manifest).namespace, owner["name"]))
        if above is not None and uid_of(above) == owner.get("uid"):
            yield from _lineage(session, above)


def _last_line(session: Session, pod: Manifest) -> str:
    files = session.logs.runs(pod, pod["spec"]["containers"][0]["name"])
    lines = containers.last_words(files[-1]).strip().splitlines() if files else []
    return "".join(letter if letter.isprintable() else " " for letter in (lines[-1] if lines else ""))


def _trouble(session: Session, pod: Manifest) -> str:
    """Say what a pod waits for, if somebody has to do something: by a container's own words, or by the newest event."""
    waiting = [(found.get("state") or {}).get("waiting") for found in _statuses(pod)]
    told = [found for found in waiting if found and found.get("message")]
    if not told and all(waiting):
        told = _warnings(session, uid_of(pod))[-1:]
    return f"{told[0]['reason']}: {told[0]['message']}" if told else ""


def _warnings(session: Session, uid: str) -> list[Manifest]:
    """Give what went wrong with an object, the newest last."""
    events = session.server.objects.storage.items(EVENTS)
    about = [found for found in events if found["involvedObject"].get("uid") == uid]
    return sorted(
        (found for found in about if found.get("type") == EventType.WARNING), key=lambda e: int(version_of(e))
    )
