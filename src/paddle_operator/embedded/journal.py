"""What stays from one run to the next: data sets and what belongs to them, written down as they change."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver.objects import Objects
from paddle_operator.embedded.apiserver.storage import Change
from paddle_operator.kube.request import Kind

log = logging.getLogger(__name__)
# Jobs are begun anew by each run, and pods are gone with the processes that they were.
KEPT = {
    "samplesets",
    "cachebackends",
    "secrets",
    "configmaps",
    "persistentvolumes",
    "persistentvolumeclaims",
    "namespaces",
}


class Entry(msgspec.Struct, frozen=True):
    """An object as it became; without it, it went."""

    group: str
    version: str
    plural: str
    key: tuple[str, str]
    manifest: Manifest | None = None


class Journal:
    """Lines are added at its end; one that was not written to its end is as if it had never been."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._descriptor = -1
        self._owed: dict[tuple[Kind, Key], bytes] = {}

    def resume(self, objects: Objects) -> None:
        """Put back what was there, write it down anew in short, and follow it from now on."""
        last: dict[tuple[str, str, str, tuple[str, str]], Entry] = {}
        for entry in read(self._place):
            last[entry.group, entry.version, entry.plural, entry.key] = entry
        kept = [entry for entry in last.values() if entry.manifest is not None]
        beside = self._place.with_suffix(".new")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(_line(entry) for entry in kept)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._place)
        self._restore(objects, kept)
        self._descriptor = os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        objects.storage.listen(self._hear)

    def _restore(self, objects: Objects, kept: list[Entry]) -> None:
        for entry in kept:
            resource = objects.catalogue.at(entry.group, entry.version, entry.plural)
            if resource is not None and entry.manifest is not None:
                objects.restore(resource, entry.manifest)

    def _hear(self, change: Change) -> None:
        if change.kind.plural in KEPT:
            key = key_of(change.last)
            self._owed[change.kind, key] = _line(_entry(change.kind, key, change.after))
            self._write()

    def _write(self) -> None:
        """Add what is owed as a whole: on a full disk nothing of it, and it stays owed until the next change."""
        size, lines = os.fstat(self._descriptor).st_size, b"".join(self._owed.values())
        try:
            written = os.write(self._descriptor, lines)
        except OSError as error:
            log.error("not written down place=%s: %s", self._place, error.strerror)  # noqa: TRY400 the words say it all
            return
        if written == len(lines):
            self._owed.clear()
            return
        os.ftruncate(self._descriptor, size)
        log.error("not written down place=%s: it is full", self._place)


def read(place: Path) -> Iterator[Entry]:
    """Read what was written down, as far as it goes."""
    if not place.exists():
        return
    for line in place.read_bytes().split(b"\n"):
        if line:
            try:
                yield msgspec.json.decode(line, type=Entry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return


def _entry(kind: Kind, key: Key, manifest: Manifest | None) -> Entry:
    return Entry(kind.group, kind.version, kind.plural, (key.namespace, key.name), manifest)


def _line(entry: Entry) -> bytes:
    return msgspec.json.encode(entry) + b"\n"
