"""What one reconcile wants to write, as data: it can be printed, compared and tested without a cluster."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.control.calls import Call
from paddle_operator.control.outcome import Terminal
from paddle_operator.kube.events import Event
from paddle_operator.kube.request import Kind, Preconditions, Propagation

NONE = Preconditions()


@dataclass(frozen=True)
class Apply:
    """These fields shall have these values; for what can change in place."""

    kind: Kind
    manifest: Manifest


@dataclass(frozen=True)
class Create:
    """An object that shall exist; for what cannot change in place and has a name that follows from what it is for."""

    kind: Kind
    manifest: Manifest


@dataclass(frozen=True)
class Patch:
    """A few fields of an object that is not made by us. A list is written whole: say on which version it is based."""

    kind: Kind
    key: Key
    change: Manifest
    preconditions: Preconditions = NONE

    @classmethod
    def of(cls, kind: Kind, observed: Manifest, change: Manifest) -> "Patch":
        """Change this very version, so that no finalizer that somebody else adds meanwhile is lost."""
        return cls(kind, key_of(observed), change, Preconditions(resource_version=version_of(observed)))


@dataclass(frozen=True)
class Delete:
    """Remove this very object, and no later one of its name; a pod with 0 seconds of grace goes though it may run."""

    kind: Kind
    key: Key
    preconditions: Preconditions
    propagation: Propagation = Propagation.BACKGROUND
    grace_seconds: int | None = None

    @classmethod
    def of(cls, kind: Kind, observed: Manifest, grace_seconds: int | None = None) -> "Delete":
        return cls(kind, key_of(observed), Preconditions(uid_of(observed)), grace_seconds=grace_seconds)


@dataclass(frozen=True)
class Status:
    """The whole status of the object that this plan is for, as it was observed."""

    kind: Kind
    observed: Manifest
    status: Manifest


@dataclass(frozen=True)
class Plan:
    """Line by line, what is in one line side by side. `terminal`: only somebody's change makes a later plan better.

    After a line that failed nothing more is made, but what is to be deleted goes: it waits for nothing to come.
    `status_later`: what is made here brings us back at once, so the status and the events are left to that look, unless
    something fails.
    """

    patch: tuple[Patch, ...] = ()
    apply: tuple[Apply, ...] = ()
    create: tuple[Create, ...] = ()
    delete: tuple[Delete, ...] = ()
    calls: tuple[Call, ...] = ()
    status: Status | None = None
    status_later: bool = False
    events: tuple[Event, ...] = ()
    requeue_after: float | None = None
    terminal: Terminal | None = None
