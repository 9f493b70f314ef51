"""The objects of a fake API server: versions, uids, applied fields and a history, as far as our client can see them."""

import copy
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from paddle_operator.api.manifest import Key, Manifest, key_of, labels_of, version_of


class RefusedError(Exception):
    """Carries the Status that the server answers with."""

    def __init__(self, code: int, reason: str, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}


@dataclass
class Change:
    """One line of history; `plural` says in which collection it happened."""

    version: int
    plural: str
    type: str
    manifest: Manifest

    @property
    def line(self) -> bytes:
        return json.dumps({"type": self.type, "object": self.manifest}, ensure_ascii=False).encode() + b"\n"


@dataclass
class Objects:
    version: int = 1
    kept_since: int = 0
    objects: dict[tuple[str, Key], Manifest] = field(default_factory=dict)
    applied: dict[tuple[str, Key, str], Manifest] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)

    def get(self, plural: str, key: Key) -> Manifest:
        if (plural, key) not in self.objects:
            raise RefusedError(404, "NotFound", f'{plural} "{key.name}" not found')
        return self.objects[plural, key]

    def select(self, plural: str, namespace: str, labels: str) -> list[Manifest]:
        found = [m for (p, key), m in sorted(self.objects.items()) if p == plural and namespace in ("", key.namespace)]
        return [manifest for manifest in found if matches(manifest, labels)]

    def create(self, plural: str, manifest: Manifest) -> Manifest:
        key = key_of(manifest)
        if (plural, key) in self.objects:
            raise RefusedError(409, "AlreadyExists", f'{plural} "{key.name}" already exists')
        made = copy.deepcopy(manifest)
        made["metadata"] |= {"uid": str(uuid.uuid4()), "generation": 1}
        return self._store(plural, made, "ADDED")

    def replace(self, plural: str, manifest: Manifest) -> Manifest:
        present = self.get(plural, key_of(manifest))
        if version_of(manifest) not in ("", version_of(present)):
            raise RefusedError(409, "Conflict", "the object has been modified")
        return self._change(plural, present, copy.deepcopy(manifest))

    def merge(self, plural: str, key: Key, change: Manifest) -> Manifest:
        present = self.get(plural, key)
        for name in ("uid", "resourceVersion"):
            if change.get("metadata", {}).get(name) not in (None, present["metadata"][name]):
                raise RefusedError(409, "Conflict", f"the {name} does not match")
        return self._change(plural, present, merged(present, change))

    def apply(self, plural: str, key: Key, manifest: Manifest, manager: str) -> Manifest:
        """Set what is sent, and take away what the same manager sent before and no longer does."""
        owned = (plural, key, manager)
        present = self.objects.get((plural, key))
        if present is None and manager.endswith("/status"):
            raise RefusedError(404, "NotFound")
        if present is not None and manifest["metadata"].get("uid") not in (None, present["metadata"]["uid"]):
            raise RefusedError(409, "Conflict", "uid mismatch")
        if present is None:
            written = self.create(plural, manifest)
        else:
            base = without(present, self.applied.get(owned, {}), manifest)
            written = self._change(plural, present, merged(base, manifest))
        self.applied[owned] = copy.deepcopy(manifest)
        return written

    def delete(self, plural: str, key: Key, options: Manifest) -> Manifest:
        present = self.get(plural, key)
        for name, value in (options.get("preconditions") or {}).items():
            if present["metadata"].get(name) != value:
                raise RefusedError(409, "Conflict", f"the {name} in the precondition does not match")
        del self.objects[plural, key]
        self.applied = {owned: sent for owned, sent in self.applied.items() if owned[:2] != (plural, key)}
        return self._remember(plural, copy.deepcopy(present), "DELETED")

    def forget_history(self) -> None:
        self.kept_since = self.version
        self.history.clear()

    def _change(self, plural: str, present: Manifest, wanted: Manifest) -> Manifest:
        wanted["metadata"] = {**wanted["metadata"], **{k: present["metadata"][k] for k in ("uid", "resourceVersion")}}
        return present if wanted == present else self._store(plural, wanted, "MODIFIED")

    def _store(self, plural: str, manifest: Manifest, what: str) -> Manifest:
        self.objects[plural, key_of(manifest)] = manifest
        return self._remember(plural, manifest, what)

    def _remember(self, plural: str, manifest: Manifest, what: str) -> Manifest:
        self.version += 1
        manifest["metadata"] = {**manifest["metadata"], "resourceVersion": str(self.version)}
        self.history.append(Change(self.version, plural, what, copy.deepcopy(manifest)))
        return manifest


def matches(manifest: Manifest, labels: str) -> bool:
    wanted = [term.partition("=")[::2] for term in labels.split(",") if term]
    return all(labels_of(manifest).get(name) == value for name, value in wanted)


def merged(base: Any, change: Any) -> Any:  # noqa: ANN401 any JSON
    if not isinstance(base, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    result = {**base, **{name: merged(base.get(name), value) for name, value in change.items()}}
    return {name: value for name, value in result.items() if value is not None}


def without(base: Manifest, before: Manifest, now: Manifest) -> Manifest:
    """Remove the fields that were sent before and are not sent now."""
    result = dict(base)
    for name, value in before.items():
        if name not in now:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(now[name], dict) and isinstance(result.get(name), dict):
            result[name] = without(result[name], value, now[name])
    return result
