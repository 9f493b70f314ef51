"""What is mounted in a mount namespace, read from the kernel's list; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

JUICEFS = "fuse.juicefs"
_ESCAPED = re.compile(r"\\([0-7]{3})")
_FIELDS_BEFORE = 6


@dataclass(frozen=True)
class Mount:
    """One line: `device` names the file system, `root` the directory of it that is seen at `place`."""

    identity: int
    parent: int
    device: str
    root: str
    place: Path
    options: frozenset[str]
    kind: str
    source: str


def parse(text: str) -> list[Mount]:
    """Read /proc/PID/mountinfo, in the kernel's order: of two mounts at one place, the later covers the earlier."""
    return [mount for line in text.splitlines() if (mount := _parse_line(line)) is not None]


def _parse_line(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    fields, rest = before.split(" "), after.split(" ")
    if not separator or len(fields) < _FIELDS_BEFORE or len(rest) < 2:  # noqa: PLR2004 kind and source
        return None
    identity, parent, device, root, place, options = fields[:_FIELDS_BEFORE]
    return Mount(
        int(identity),
        int(parent),
        device,
        unescaped(root),
        Path(unescaped(place)),
        frozenset(options.split(",")),
        rest[0],
        unescaped(rest[1]),
    )


def unescaped(text: str) -> str:
    r"""Undo the kernel's \040 for a blank."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def layers(mounts: Iterable[Mount], place: Path) -> list[Mount]:
    """Give what is mounted at a place, the lowest first."""
    return [mount for mount in mounts if mount.place == place]


def copies(mounts: list[Mount], place: Path) -> list[Mount]:
    """Give what else is mounted of the file systems at a place."""
    devices = {mount.device for mount in layers(mounts, place)}
    return [mount for mount in mounts if mount.device in devices and mount.place != place]


def uncovered(mounts: list[Mount], devices: frozenset[str]) -> list[Mount]:
    """Give the mounts of these file systems that a path still leads to."""
    covered = {(mount.parent, mount.place) for mount in mounts}
    return [mount for mount in mounts if mount.device in devices and (mount.identity, mount.place) not in covered]


def is_upper(mounts: list[Mount], mount: Mount) -> bool:
    """Tell what recovery put right on top of another JuiceFS from what a container began with."""
    below = next((other for other in mounts if other.identity == mount.parent), None)
    return below is not None and below.place == mount.place and below.kind == JUICEFS
