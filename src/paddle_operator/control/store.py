"""The objects of one kind as last seen, by key and by what they are indexed for."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, labels_of, uid_of, version_of

Index = Callable[[Manifest], Iterable[str]]
Listener = Callable[[Manifest], None]


def by_owner(manifest: Manifest) -> Iterable[str]:
    """Index by the uid of the controlling owner."""
    owner = controller_of(manifest)
    return () if owner is None else (owner["uid"],)


def by_label(name: str) -> Index:
    def values(manifest: Manifest) -> Iterable[str]:
        value = labels_of(manifest).get(name)
        return () if value is None else (value,)

    return values


class Store:
    """What is handed out is shared: whoever wants to change it copies it first."""

    def __init__(self, indexes: Mapping[str, Index] | None = None) -> None:
        self._indexes = dict(indexes or {})
        self._objects: dict[Key, Manifest] = {}
        self._entries: dict[str, dict[str, set[Key]]] = {name: defaultdict(set) for name in self._indexes}
        self._filed: dict[Key, list[tuple[str, str]]] = {}
        self._listeners: list[Listener] = []
        self._unheard: set[Key] = set()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Manifest]:
        return iter(list(self._objects.values()))

    def get(self, key: Key) -> Manifest | None:
        return self._objects.get(key)

    def find(self, index: str, value: str) -> list[Manifest]:
        """Give the objects under this value, in the order of their keys."""
        return [self._objects[key] for key in sorted(self._entries[index].get(value, ()))]

    def add_index(self, name: str, index: Index) -> None:
        """Keep one index more; two of a name would mean that one controller finds what another looks for."""
        if name in self._indexes:
            raise ValueError(f"there is an index {name} already: give the second another name")
        self._indexes[name] = index
        self._entries[name] = defaultdict(set)
        for key in self._filed:
            self._file(key, name)

    def listen(self, listener: Listener) -> None:
        """Be told of each object that changed: as it was, as it is, and as it was when it went."""
        self._listeners.append(listener)

    def replace(self, items: list[Manifest]) -> None:
        """Take these as all there are; listeners hear of it only when all are in."""
        before = self._objects
        wanted = {key_of(manifest): manifest for manifest in items}
        changed = {key for key in before.keys() | wanted.keys() if _differs(before.get(key), wanted.get(key))}
        heard = [(before.get(key), wanted.get(key)) for key in sorted(changed | self._unheard)]
        self._unheard.clear()
        for was, now in heard:
            self._set(was, now)
        for was, now in heard:
            self._tell(was, now)

    def put(self, manifest: Manifest) -> None:
        was = self._objects.get(key_of(manifest))
        if was is not None and is_older(manifest, was):
            return
        self._unheard.discard(key_of(manifest))
        self._set(was, manifest)
        self._tell(was, manifest)

    def remove(self, manifest: Manifest) -> None:
        was = self._objects.get(key_of(manifest))
        self._unheard.discard(key_of(manifest))
        if was is not None and (uid_of(was) == uid_of(manifest) or not _precedes(manifest, was)):
            self._set(was, None)  # and not when it is an earlier object of this name that went
        self._tell(was, manifest)

    def refresh(self, manifest: Manifest) -> None:
        """Take the answer to our own write before the watch brings it; an object that has gone meanwhile stays gone."""
        was = self._objects.get(key_of(manifest))
        if was is not None and uid_of(was) == uid_of(manifest) and not is_older(manifest, was):
            self._set(was, manifest)
            # It may bring a change by somebody else along, of which nobody was told yet.
            self._unheard.add(key_of(manifest))

    def _set(self, was: Manifest | None, now: Manifest | None) -> None:
        if was is not None:
            self._forget(key_of(was))
        if now is not None:
            key = key_of(now)
            self._objects[key], self._filed[key] = now, []
            for name in self._indexes:
                self._file(key, name)

    def _file(self, key: Key, name: str) -> None:
        for value in self._indexes[name](self._objects[key]):
            self._entries[name][value].add(key)
            self._filed[key].append((name, value))

    def _forget(self, key: Key) -> None:
        """Go by what was noted, not by what the index says now: it may have changed its mind."""
        del self._objects[key]
        for name, value in self._filed.pop(key):
            keys = self._entries[name][value]
            keys.discard(key)
            if not keys:
                del self._entries[name][value]

    def _tell(self, *manifests: Manifest | None) -> None:
        for manifest in manifests:
            if manifest is not None:
                for listener in self._listeners:
                    listener(manifest)


def is_older(manifest: Manifest, than: Manifest) -> bool:
    """Compare two states of one object; versions that are no numbers cannot be compared."""
    return uid_of(manifest) == uid_of(than) and _precedes(manifest, than)


def _precedes(manifest: Manifest, other: Manifest) -> bool:
    first, second = version_of(manifest), version_of(other)
    return first.isdecimal() and second.isdecimal() and int(first) < int(second)


def _differs(was: Manifest | None, now: Manifest | None) -> bool:
    if was is None or now is None:
        return was is not now
    return uid_of(was) != uid_of(now) or version_of(was) != version_of(now)
