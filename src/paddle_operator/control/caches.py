"""One store and one watch for each kind that any controller looks at."""

import asyncio
from collections.abc import Iterator

from paddle_operator.api.manifest import Manifest
from paddle_operator.control.store import Store
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Scope
from paddle_operator.kube.watch import Meter, Pace, Watch


class Caches:
    def __init__(self, client: Client, meter: Meter, namespace: str = "", pace: Pace | None = None) -> None:
        self.stores: dict[Kind, Store] = {}
        self._client = client
        self._meter = meter
        self._namespace = namespace
        self._pace = pace
        self._watches: dict[Kind, Watch] = {}
        self._needed: set[Kind] = set()

    def watch(self, kind: Kind, labels: str = "", *, optional: bool = False) -> Store:
        """Give the kind's store; all who watch a kind must ask for the same objects of it.

        A kind that is optional is not waited for when the cluster does not know it.
        """
        scope = Scope(kind, self._namespace if kind.namespaced else "", labels)
        if kind not in self.stores:
            self.stores[kind] = Store()
            self._watches[kind] = Watch(
                self._client, scope, self.stores[kind], self._meter, self._pace, without_managed_fields
            )
        elif self._watches[kind].scope != scope:
            raise ValueError(f"{kind.plural} are watched already, with other labels")
        if not optional:
            self._needed.add(kind)
        return self.stores[kind]

    def serves(self, kind: Kind) -> bool:
        """Tell whether the cluster knows the kind, as far as we have heard."""
        return not self._watches[kind].is_absent

    @property
    def watches(self) -> Iterator[Watch]:
        return iter(self._watches.values())

    @property
    def missing(self) -> list[str]:
        """Name the kinds that have not been listed yet."""
        return [kind.plural for kind in self._watches if not self._known(kind).is_set()]

    async def synced(self) -> None:
        for kind in self._watches:
            await self._known(kind).wait()

    def _known(self, kind: Kind) -> asyncio.Event:
        watch = self._watches[kind]
        return watch.synced if kind in self._needed else watch.answered


def without_managed_fields(manifest: Manifest) -> Manifest:
    """Leave out who set what, often half of an object: nobody here reads it."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    return {**manifest, "metadata": metadata}
