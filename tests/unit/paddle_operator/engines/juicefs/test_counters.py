"""What a mount tells in a constant time."""

from pathlib import Path

import pytest

from paddle_operator.engines.juicefs import counters
from paddle_operator.engines.reports import Data

MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda rw
90 22 0:50 / /mnt/set rw - fuse.juicefs JuiceFS:set rw
91 22 0:51 / /mnt/a\\040b rw - fuse.juicefs JuiceFS:set rw
92 22 0:52 / /mnt/other rw - tmpfs tmpfs rw
93 22 0:53 / /mnt/covered rw - fuse.juicefs JuiceFS:set rw
94 93 0:54 / /mnt/covered rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "mounted"),
    [("/mnt/set", True), ("/mnt/a b", True), ("/mnt/other", False), ("/mnt", False), ("/mnt/covered", False)],
)
def test_a_mount_is_known_without_touching_it(path: str, mounted: bool) -> None:  # noqa: FBT001 a table's column
    assert counters.is_mounted(Path(path), MOUNTS) is mounted


def test_counters_are_read_with_and_without_labels() -> None:
    stats = 'juicefs_blockcache_hits 12\njuicefs_blockcache_miss{mp="/a",vol="b"} 1.5e+03\ngo_info_go1.15 1\nodd line\n'
    assert counters.parse(stats) == {"juicefs_blockcache_hits": 12, "juicefs_blockcache_miss": 1500}


SUMMARIES = {
    "0.14": (" inode: 2\n files:\t3000\n dirs:\t4\n length:\t60000000\n size:\t61456384\n", Data(61_456_384, 3004)),
    "1.x": (
        " inode: 2\n files: 3000\n  dirs: 4\nlength: 57.22 MiB (60000000 Bytes)\n  size: 58.61 MiB (61456384 Bytes)\n",
        Data(61_456_384, 3004),
    ),
    "something else": ("input/output error", None),
}


@pytest.mark.parametrize(("info", "data"), SUMMARIES.values(), ids=SUMMARIES.keys())
def test_what_is_below_a_directory_is_read_as_both_versions_write_it(info: str, data: Data | None) -> None:
    assert counters.parse_summary(info) == data
