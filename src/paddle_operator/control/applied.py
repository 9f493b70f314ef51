"""What was applied to an object last: its digest in an annotation, and whether the object still says so."""

import hashlib
from collections import OrderedDict
from typing import NamedTuple

import msgspec

from paddle_operator.api.manifest import Key, Manifest, annotations_of, key_of, version_of
from paddle_operator.kube.request import Kind

MOST_REMEMBERED = 10_000
OWNERS = "ownerReferences"


class Sent(NamedTuple):
    digest: str
    version: str


class Applied:
    """Remembers only the objects in which the server wrote a value in another form than we sent, as 1 for 1000m."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._odd: OrderedDict[tuple[Kind, Key], Sent] = OrderedDict()

    def marks(self, observed: Manifest) -> bool:
        """Tell whether we ever applied it."""
        return self._mark in annotations_of(observed)

    def marked(self, manifest: Manifest) -> Manifest:
        annotations = {**annotations_of(manifest), self._mark: digest_of(manifest)}
        return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}

    def holds(self, kind: Kind, observed: Manifest, manifest: Manifest) -> bool:
        """Tell whether applying would change nothing: the values are there, and nothing is left of what we gave up."""
        digest = digest_of(manifest)
        if self._odd.get((kind, key_of(observed))) == Sent(digest, version_of(observed)):
            return True
        return annotations_of(observed).get(self._mark) == digest and covers(observed, manifest)

    def note(self, kind: Kind, written: Manifest, manifest: Manifest) -> None:
        self.forget(kind, key_of(written))
        if not covers(written, manifest):
            self._odd[kind, key_of(written)] = Sent(digest_of(manifest), version_of(written))
            if len(self._odd) > MOST_REMEMBERED:
                self._odd.popitem(last=False)

    def forget(self, kind: Kind, key: Key) -> None:
        self._odd.pop((kind, key), None)


def as_applied(live: Manifest, manager: str) -> list[Manifest] | None:
    """Give who set what, with what this manager set by creating it as if it had applied it; nothing if it is so."""
    entries: list[Manifest] = live["metadata"].get("managedFields") or []
    created = [found for found in entries if _is_of(found, manager, "Update")]
    if not created or any(_is_of(found, manager, "Apply") for found in entries):
        return None
    return [{**found, "operation": "Apply"} if found in created else found for found in entries]


def _is_of(entry: Manifest, manager: str, operation: str) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == (manager, operation, "")


def digest_of(manifest: Manifest) -> str:
    return hashlib.sha256(msgspec.json.encode(manifest, order="sorted")).hexdigest()[:16]


def covers(observed: object, wanted: object) -> bool:
    """Tell whether all that is wanted is there; fields that others set do not matter, list items do, but for owners."""
    if isinstance(wanted, dict):
        return isinstance(observed, dict) and all(
            (_has_owners if name == OWNERS else covers)(observed.get(name), value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(observed, list) and len(observed) == len(wanted) and all(map(covers, observed, wanted))
    return observed == wanted


def _has_owners(observed: object, wanted: object) -> bool:
    """Tell whether the object goes with these, whoever made others of its owners too."""
    present = observed if isinstance(observed, list) else []
    return isinstance(wanted, list) and all(any(covers(found, owner) for found in present) for owner in wanted)
