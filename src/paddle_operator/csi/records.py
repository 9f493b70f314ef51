"""What the plugin must know to bring a client back without being asked: kept in memory, for root alone."""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddle_operator.csi.namespaces import Namespace
from paddle_operator.csi.places import Places
from paddle_operator.csi.volumes import Volume

OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Records:
    node: Namespace
    places: Places

    def keep(self, volume: Volume) -> None:
        """Write beside and rename: who reads finds the old or the new, never half of one."""
        place = self.places.record(volume.directory)
        content = msgspec.json.encode(volume)

        def write() -> None:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            beside = place.with_suffix(".new")
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            beside.replace(place)

        self.node.run(write)

    def find(self, directory: str) -> Volume | None:
        return self._read(self.places.record(directory))

    def drop(self, directory: str) -> None:
        self.node.run(lambda: self.places.record(directory).unlink(missing_ok=True))

    def all(self) -> list[Volume]:
        places = self.node.run(lambda: sorted(self.places.records.glob("*.json")))
        return [volume for place in places if (volume := self._read(place)) is not None]

    def _read(self, place: Path) -> Volume | None:
        try:
            return msgspec.json.decode(self.node.run(place.read_bytes), type=Volume)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
