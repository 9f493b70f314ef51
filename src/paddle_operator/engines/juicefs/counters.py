"""What a mount tells in a constant time, however many files it has: its counters, and how full it is."""

import os
import re
from pathlib import Path

from paddle_operator.engines.reports import Data

HITS, MISSES = "juicefs_blockcache_hits", "juicefs_blockcache_miss"
CACHED = "juicefs_blockcache_write_bytes"
LINE = re.compile(r"^(\w+)(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)
FILE_SYSTEM = re.compile(r" - fuse\.juicefs ")
# Of a directory and all below it. 1.x writes sizes for people, too.
COUNTED = re.compile(r"^ *files:\s*(\d+)$\n *dirs:\s*(\d+)$", re.MULTILINE)
SIZE = re.compile(r"^ *size:\s.*?(\d+)(?: Bytes\)?)?$", re.MULTILINE)
ESCAPED = re.compile(r"\\([0-7]{3})")


def is_mounted(mount: Path, mountinfo: str) -> bool:
    """Tell from /proc/self/mountinfo, which answers also when the mount does not: the last one there counts."""
    found = False
    for line in mountinfo.splitlines():
        place = ESCAPED.sub(lambda code: chr(int(code[1], 8)), line.split(" ")[4])
        if place == str(mount):
            found = FILE_SYSTEM.search(line) is not None
    return found


def parse(stats: str) -> dict[str, int]:
    """Read `.stats`; of counters with labels, the sum."""
    counted: dict[str, int] = {}
    for name, value in LINE.findall(stats):
        counted[name] = counted.get(name, 0) + int(float(value))
    return counted


def read(mount: Path) -> dict[str, int]:
    return parse((mount / ".stats").read_text(errors="replace"))


def parse_summary(info: str) -> Data | None:
    """Read what JuiceFS tells of a directory and all below it, which it counts as the volume does."""
    counted, size = COUNTED.search(info), SIZE.search(info)
    return Data(int(size[1]), int(counted[1]) + int(counted[2])) if counted and size else None


def difference(larger: Data, smaller: Data) -> Data:
    """Give by how much a volume has grown, or shrunk; never less than nothing, although others use it, too."""
    return Data(max(larger.bytes - smaller.bytes, 0), max(larger.files - smaller.files, 0))


def data(mount: Path) -> Data:
    """Give the volume's own count of used space and inodes: directories count as files, space in units of 64 KiB."""
    usage = os.statvfs(mount)
    return Data((usage.f_blocks - usage.f_bfree) * usage.f_frsize, usage.f_files - usage.f_ffree)
