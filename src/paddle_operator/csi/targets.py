"""Which places of pods a volume is mounted at, by what the kubelet wrote down and by what is mounted."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.csi import mounttable
from paddle_operator.csi.mounttable import Mount
from paddle_operator.csi.namespaces import Namespace
from paddle_operator.csi.places import Places

VOLUMES = "/volumes/kubernetes.io~csi/"
PLACE = "mount"
WRITTEN = f"*{VOLUMES}*/vol_data.json"
SUBPATHS = "volume-subpaths"


class VolumeData(msgspec.Struct, frozen=True):
    """What the kubelet keeps beside each place, as far as it matters here."""

    driver: str = msgspec.field(name="driverName", default="")
    handle: str = msgspec.field(name="volumeHandle", default="")


@dataclass(frozen=True)
class Targets:
    node: Namespace
    places: Places

    def of(self, handle: str, stage: Path, table: list[Mount]) -> list[Path]:
        """Give the places of a volume, whether something is mounted there or not.

        The kubelet empties its notes to write the same again, as it does for all pods when it was restarted. So those
        that have a copy of the stage's mount are the volume's without a note, too.
        """
        noted = self.node.run(lambda: [place for place in self._places() if _written(place) == (CSI_DRIVER, handle)])
        copies = [mount.place for mount in mounttable.copies(table, stage) if self._is_place(mount.place)]
        return list(dict.fromkeys([*noted, *copies]))

    def _is_place(self, place: Path) -> bool:
        return place.is_relative_to(self.places.pods) and VOLUMES in str(place) and place.name == PLACE

    def _places(self) -> list[Path]:
        return [written.parent / PLACE for written in sorted(self.places.pods.glob(WRITTEN))]

    def is_of_node(self, place: Path) -> bool:
        """Tell a place that the kubelet or we made, wherever a container has the node's directories."""
        return any(part in str(place) for part in (VOLUMES, f"/{SUBPATHS}/", str(self.places.mounts)))

    def is_subpath(self, place: Path) -> bool:
        """Tell whether the kubelet mounts a part of a volume there, for one container."""
        inside = place.is_relative_to(self.places.pods)
        return inside and SUBPATHS in place.relative_to(self.places.pods).parts[1:2]


def _written(place: Path) -> tuple[str, str]:
    try:
        data = msgspec.json.decode(place.with_name("vol_data.json").read_bytes(), type=VolumeData)
    except (OSError, msgspec.DecodeError):
        return "", ""  # gone meanwhile, or not written to its end
    return data.driver, data.handle
