"""One store for each kind that any controller looks at, and one watch for each selection of its objects."""

import asyncio
from collections.abc import Iterator

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.control.store import Store
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Scope
from paddle_operator.kube.watch import Meter, Pace, Watch


class Part:
    """What one watch brings into a store that watches for other labels fill, too."""

    def __init__(self, store: Store, parts: "list[Part]") -> None:
        self._store = store
        self._parts = parts
        self._keys: set[Key] = set()
        parts.append(self)

    def replace(self, items: list[Manifest]) -> None:
        self._keys = {key_of(manifest) for manifest in items}
        others = [found for found in self._store if self._is_elsewhere(key_of(found))] if len(self._parts) > 1 else []
        self._store.replace([*(found for found in others if key_of(found) not in self._keys), *items])

    def put(self, manifest: Manifest) -> None:
        self._keys.add(key_of(manifest))
        self._store.put(manifest)

    def remove(self, manifest: Manifest) -> None:
        """Take it away, unless it only left this selection for another: that watch tells when it is gone."""
        self._keys.discard(key_of(manifest))
        if not self._is_elsewhere(key_of(manifest)):
            self._store.remove(manifest)

    def _is_elsewhere(self, key: Key) -> bool:
        return any(key in part._keys for part in self._parts if part is not self)  # noqa: SLF001  # its own kind


class Caches:
    def __init__(self, client: Client, meter: Meter, namespace: str = "", pace: Pace | None = None) -> None:
        self.stores: dict[Kind, Store] = {}
        self._client = client
        self._meter = meter
        self._namespace = namespace
        self._pace = pace
        self._parts: dict[Kind, list[Part]] = {}
        self._watches: dict[Scope, Watch] = {}
        self._needed: set[Kind] = set()

    def watch(self, kind: Kind, labels: str = "", *, optional: bool = False) -> Store:
        """Give the kind's store, which has at least the objects with these labels.

        A kind that is optional is not waited for when the cluster does not know it, or does not let us look.
        """
        scope = Scope(kind, self._namespace if kind.namespaced else "", labels)
        store = self.stores.setdefault(kind, Store())
        if scope not in self._watches:
            part = Part(store, self._parts.setdefault(kind, []))
            self._watches[scope] = Watch(self._client, scope, part, self._meter, self._pace, without_managed_fields)
        if not optional:
            self._needed.add(kind)
        return store

    def serves(self, kind: Kind) -> bool:
        """Tell whether the cluster knows the kind, as far as we have heard."""
        return not any(watch.is_absent for scope, watch in self._watches.items() if scope.kind == kind)

    def forbids(self, kind: Kind) -> bool:
        """Tell whether the cluster does not let us look at the kind."""
        return any(watch.is_forbidden for scope, watch in self._watches.items() if scope.kind == kind)

    @property
    def watches(self) -> Iterator[Watch]:
        return iter(self._watches.values())

    @property
    def missing(self) -> list[str]:
        """Name the kinds that have not been listed yet."""
        return [watch.scope.kind.plural for watch in self.watches if not self._known(watch).is_set()]

    async def synced(self) -> None:
        for watch in self.watches:
            await self._known(watch).wait()

    def _known(self, watch: Watch) -> asyncio.Event:
        return watch.synced if watch.scope.kind in self._needed else watch.answered


def without_managed_fields(manifest: Manifest) -> Manifest:
    """Leave out who set what, often half of an object: nobody here reads it."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    return {**manifest, "metadata": metadata}
