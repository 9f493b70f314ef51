"""All objects with their versions, and the changes that led to them: what lists and watches are answered from."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.kube.request import Kind

CHANGES_KEPT = 10_000


@dataclass(frozen=True)
class Change:
    """One write: what an object was, and what it is, with the version of this very write. One of them may be absent."""

    version: int
    kind: Kind
    before: Manifest | None
    after: Manifest | None

    @cached_property
    def last(self) -> Manifest:
        """Give the object as it is, or as it was when it went."""
        if self.after is not None:
            return self.after
        if self.before is None:
            raise ValueError("a change from nothing to nothing")
        return versioned(self.before, self.version)

    @cached_property
    def encoded(self) -> bytes:
        """Encode it once for all who watch."""
        return msgspec.json.encode(self.last)


class Storage:
    """What is handed out is shared and never changed: a write puts a new object in the place of the old."""

    def __init__(self, kept: int = CHANGES_KEPT) -> None:
        self.version = 1
        self._kept = kept
        self._objects: dict[Kind, dict[Key, Manifest]] = defaultdict(dict)
        self._history: deque[Change] = deque()
        self._listeners: list[Callable[[Change], None]] = []

    @property
    def oldest(self) -> int:
        """Tell from which version on all changes are known."""
        return self._history[0].version - 1 if self._history else self.version

    def find(self, kind: Kind, key: Key) -> Manifest | None:
        return self._objects[kind].get(key)

    def get(self, kind: Kind, key: Key) -> Manifest:
        found = self.find(kind, key)
        if found is None:
            raise refusals.not_found(kind, key.name)
        return found

    def items(self, kind: Kind, version: int | None = None) -> list[Manifest]:
        """Give all of a kind in the order of their keys, as of now or as of a version before."""
        objects = self._objects[kind] if version is None else self._as_of(kind, version)
        return [objects[key] for key in sorted(objects)]

    def everything(self) -> Iterator[tuple[Kind, Manifest]]:
        for kind, objects in list(self._objects.items()):
            for manifest in list(objects.values()):
                yield kind, manifest

    def _as_of(self, kind: Kind, version: int) -> dict[Key, Manifest]:
        changes = list(self.since(version))
        objects = dict(self._objects[kind])
        for change in reversed(changes):
            if change.kind != kind:
                continue
            if change.before is None:
                del objects[key_of(change.last)]
            else:
                objects[key_of(change.before)] = change.before
        return objects

    def since(self, version: int) -> Iterator[Change]:
        """Give the changes after a version, unless some of them are forgotten."""
        if version > self.version:
            raise refusals.too_new(version, self.version)
        if version < self.oldest:
            raise refusals.expired(version, self.oldest)
        return (change for change in list(self._history) if change.version > version)

    def put(self, kind: Kind, manifest: Manifest) -> Manifest:
        before = self._objects[kind].get(key_of(manifest))
        written = versioned(manifest, self.version + 1)
        self._objects[kind][key_of(manifest)] = written
        self._record(Change(self.version + 1, kind, before, written))
        return written

    def remove(self, kind: Kind, key: Key) -> Manifest:
        before = self._objects[kind].pop(key)
        change = Change(self.version + 1, kind, before, None)
        self._record(change)
        return change.last

    def forget(self, kept: int = 0) -> None:
        """Drop the history but for its last changes, as a real server does now and then."""
        while len(self._history) > kept:
            self._history.popleft()

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Be told of each change from now on, until the function that comes back is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _record(self, change: Change) -> None:
        self.version = change.version
        self._history.append(change)
        self.forget(self._kept)
        for listener in list(self._listeners):
            listener(change)


def versioned(manifest: Manifest, version: int) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(version)}}
