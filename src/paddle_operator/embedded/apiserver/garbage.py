"""Deletes what has lost its owners, empties namespaces that end, and lets go what waited for that."""

import asyncio
from collections import defaultdict

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.embedded.apiserver.deletion import (
    FINALIZER_FOREGROUND,
    FINALIZER_ORPHAN,
    NAMESPACES,
    Deletion,
)
from paddle_operator.embedded.apiserver.objects import Objects, Options
from paddle_operator.embedded.apiserver.storage import Change
from paddle_operator.kube.request import Kind, Propagation

MANAGER = "garbage-collector"
Place = tuple[Kind, Key]


class Collector:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._alive: dict[str, Place] = {}
        self._dependents: dict[str, set[Place]] = defaultdict(set)
        self._suspects: asyncio.Queue[Place] = asyncio.Queue()
        objects.storage.listen(self._hear)

    async def run(self) -> None:
        while True:
            self._look(*await self._suspects.get())

    def _hear(self, change: Change) -> None:
        place = (change.kind, key_of(change.last))
        for owner in owners_of(change.before):
            self._dependents[owner["uid"]].discard(place)
        if change.after is None:
            self._alive.pop(uid_of(change.last), None)
            for dependent in self._dependents.pop(uid_of(change.last), set()):
                self._suspects.put_nowait(dependent)
        else:
            self._alive[uid_of(change.after)] = place
            for owner in owners_of(change.after):
                self._dependents[owner["uid"]].add(place)
            if owners_of(change.after) or change.after["metadata"].get("deletionTimestamp"):
                self._suspects.put_nowait(place)
        self._suspect_those_who_wait_for(change)

    def _suspect_those_who_wait_for(self, change: Change) -> None:
        for owner in [*owners_of(change.before), *owners_of(change.after)]:
            if owner["uid"] in self._alive:
                self._suspects.put_nowait(self._alive[owner["uid"]])
        namespace = change.last["metadata"].get("namespace")
        if change.after is None and namespace:
            self._suspects.put_nowait((NAMESPACES, Key("", namespace)))

    def _look(self, kind: Kind, key: Key) -> None:
        manifest = self._objects.storage.find(kind, key)
        if manifest is None:
            return
        if kind == NAMESPACES and manifest["metadata"].get("deletionTimestamp"):
            self._empty(manifest)
        finalizers = manifest["metadata"].get("finalizers") or []
        if manifest["metadata"].get("deletionTimestamp") and FINALIZER_ORPHAN in finalizers:
            self._orphan(kind, manifest)
        elif manifest["metadata"].get("deletionTimestamp") and FINALIZER_FOREGROUND in finalizers:
            self._delete_dependents(kind, manifest)
        elif owners_of(manifest):
            self._check_owners(kind, manifest)

    def _check_owners(self, kind: Kind, manifest: Manifest) -> None:
        owners = owners_of(manifest)
        living = [owner for owner in owners if self._lives(owner, manifest)]
        if not living:
            self._delete(kind, manifest, Propagation.BACKGROUND)
        elif len(living) < len(owners):
            self._set_metadata(kind, manifest, ownerReferences=living)

    def _lives(self, owner: Manifest, dependent: Manifest) -> bool:
        """Find an owner by its uid, and in the same namespace if it is in one."""
        place = self._alive.get(owner["uid"])
        return place is not None and place[1].namespace in ("", key_of(dependent).namespace)

    def _delete_dependents(self, kind: Kind, manifest: Manifest) -> None:
        blocking = False
        for other, key in sorted(self._dependents.get(uid_of(manifest), ()), key=lambda place: place[1]):
            dependent = self._objects.storage.find(other, key)
            if dependent is None:
                continue
            reference = next(owner for owner in owners_of(dependent) if owner["uid"] == uid_of(manifest))
            blocking = blocking or bool(reference.get("blockOwnerDeletion"))
            if not dependent["metadata"].get("deletionTimestamp"):
                self._delete(other, dependent, Propagation.FOREGROUND)
        if not blocking:
            self._let_go(kind, manifest, FINALIZER_FOREGROUND)

    def _orphan(self, kind: Kind, manifest: Manifest) -> None:
        for other, key in list(self._dependents.get(uid_of(manifest), ())):
            dependent = self._objects.storage.find(other, key)
            if dependent is not None:
                rest = [owner for owner in owners_of(dependent) if owner["uid"] != uid_of(manifest)]
                self._set_metadata(other, dependent, ownerReferences=rest)
        self._let_go(kind, manifest, FINALIZER_ORPHAN)

    def _empty(self, namespace: Manifest) -> None:
        name = key_of(namespace).name
        inside = [
            (kind, found)
            for kind, found in self._objects.storage.everything()
            if found["metadata"].get("namespace") == name
        ]
        for kind, manifest in inside:
            if not manifest["metadata"].get("deletionTimestamp"):
                self._delete(kind, manifest, Propagation.BACKGROUND)
        if not inside:
            self._objects.storage.remove(NAMESPACES, key_of(namespace))

    def _delete(self, kind: Kind, manifest: Manifest, propagation: Propagation) -> None:
        resource = self._objects.catalogue.at(kind.group, kind.version, kind.plural)
        if resource is not None:
            self._objects.delete(resource, key_of(manifest), Deletion(propagation, uid=uid_of(manifest)))

    def _let_go(self, kind: Kind, manifest: Manifest, finalizer: str) -> None:
        rest = [name for name in manifest["metadata"]["finalizers"] if name != finalizer]
        self._set_metadata(kind, manifest, finalizers=rest)

    def _set_metadata(self, kind: Kind, manifest: Manifest, **fields: object) -> None:
        resource = self._objects.catalogue.at(kind.group, kind.version, kind.plural)
        if resource is not None:
            changed = {**manifest, "metadata": {**manifest["metadata"], **fields}}
            self._objects.patch(resource, key_of(manifest), lambda _: changed, Options(MANAGER))


def owners_of(manifest: Manifest | None) -> list[Manifest]:
    owners: list[Manifest] = [] if manifest is None else manifest["metadata"].get("ownerReferences") or []
    return owners
