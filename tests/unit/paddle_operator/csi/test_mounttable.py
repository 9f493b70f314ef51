"""The kernel's list of mounts."""

from pathlib import Path

from paddle_operator.csi import mounts, mounttable
from paddle_operator.csi.syscalls import Attribute

LIST = r"""
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:50 / /data rw,nosuid,nodev,relatime shared:7 - fuse.juicefs JuiceFS:one rw,user_id=0
31 30 0:51 / /data ro,nosuid,nodev,noexec - fuse.juicefs JuiceFS:one rw
40 21 0:50 /some\040part /with\040blank\134 ro,relatime master:7 - fuse.juicefs JuiceFS:one rw
nonsense
"""


def test_a_line_is_read_with_its_blanks() -> None:
    mount = mounttable.parse(LIST)[-1]
    assert (mount.identity, mount.parent, mount.device) == (40, 21, "0:50")
    assert (mount.root, mount.place) == ("/some part", Path("/with blank\\"))
    assert (mount.kind, mount.source) == (mounttable.JUICEFS, "JuiceFS:one")


def test_of_two_mounts_at_a_place_the_last_is_on_top() -> None:
    assert [mount.identity for mount in mounttable.layers(mounttable.parse(LIST), Path("/data"))] == [30, 31]


def test_copies_are_of_the_same_file_system_elsewhere() -> None:
    table = mounttable.parse(LIST)
    assert [mount.identity for mount in mounttable.copies(table, Path("/data"))] == [40]
    assert mounttable.copies(table, Path("/elsewhere")) == []


def test_only_what_a_path_leads_to_is_uncovered() -> None:
    table = mounttable.parse(LIST)
    assert [mount.identity for mount in mounttable.uncovered(table, frozenset({"0:50"}))] == [40]
    assert [mount.identity for mount in mounttable.uncovered(table, frozenset({"0:50", "0:51"}))] == [31, 40]


def test_what_lies_on_another_juicefs_was_put_there_later() -> None:
    table = mounttable.parse(LIST)
    assert [mounttable.is_upper(table, mount) for mount in table] == [False, False, True, False]


def test_what_a_mount_forbids_is_forbidden_again() -> None:
    _, _, upper, part = mounttable.parse(LIST)
    everything = Attribute.RDONLY | Attribute.NOSUID | Attribute.NODEV | Attribute.NOEXEC
    assert mounts.forbidden_by(upper) == everything
    assert mounts.forbidden_by(part) == Attribute.RDONLY
