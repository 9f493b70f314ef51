"""Whose processes they are and what they use is read from the kernel, whichever version of control groups it has."""

from pathlib import Path

import pytest

from localkube import cgroups, errors
from localkube.cgroups import Hierarchy

IDENT = "0123abcd"


MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,nosuid,relatime,cpu,cpuacct 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
cgroup2 /run/somebodys/groups cgroup2 rw,relatime 0 0
cgroup /mnt/memory cgroup rw,relatime,memory 0 0
"""


def test_hierarchies_that_somebody_mounted_elsewhere_are_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    cgroups.MOUNTS.write_text(MOUNTS)
    assert cgroups.mounted() == [
        Hierarchy(cgroups.PLACE / "cpu", 1, "cpu,cpuacct"),
        Hierarchy(cgroups.PLACE / "unified", 2, ""),
    ]


def mounted(place: Path, version: int, controllers: str, files: dict[str, str]) -> Hierarchy:
    hierarchy = Hierarchy(place / (controllers or "unified"), version, controllers)
    group = hierarchy.mountpoint / cgroups.PARENT / IDENT
    group.mkdir(parents=True)
    for name, text in files.items():
        (group / name).write_text(text)
    return hierarchy


def test_version_1_counts_processors_and_memory_in_trees_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = [
        mounted(tmp_path, 1, "cpu", {"cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"}),
        mounted(tmp_path, 1, "cpuacct", {"cpuacct.usage": "2500000000\n"}),
        mounted(tmp_path, 1, "memory", {"memory.stat": "rss 1\ntotal_rss 300\ntotal_shmem 20\n"}),
        mounted(tmp_path, 1, "name=systemd", {}),
    ]
    monkeypatch.setattr(cgroups, "mounted", lambda: trees)
    assert cgroups.usage(IDENT) == (2.5, 320)


def test_version_2_counts_all_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"cpu.stat": "usage_usec 2500000\nuser_usec 1\n", "memory.stat": "anon 300\nfile 7\nshmem 20\n"}
    tree = mounted(tmp_path, 2, "", files)
    monkeypatch.setattr(cgroups, "mounted", lambda: [tree])
    assert cgroups.usage(IDENT) == (2.5, 320)


def test_who_has_no_pid_here_is_not_among_those_who_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel shows such a process as 0, which a signal takes for the whole group of who sends it."""
    tree = mounted(tmp_path, 2, "", {"cgroup.procs": "0\n4242\n0\n"})
    monkeypatch.setattr(cgroups, "mounted", lambda: [tree])
    assert cgroups.processes(IDENT) == {4242}


def _lose_parent(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have another's `down` remove the common parent just before our own group is made in it."""
    make, left = Path.mkdir, iter(range(times))

    def mkdir(path: Path, mode: int = 0o777, *, exist_ok: bool = False) -> None:
        if path.name == IDENT and next(left, None) is not None:
            path.parent.rmdir()
        make(path, mode, exist_ok=exist_ok)

    monkeypatch.setattr(Path, "mkdir", mkdir)


def test_a_parent_that_the_end_of_another_cluster_takes_away_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "mounted", lambda: [Hierarchy(tmp_path, 1, "memory")])
    _lose_parent(monkeypatch, times=3)
    assert cgroups.create(IDENT, "node-1") == [tmp_path / cgroups.PARENT / IDENT / "node-1/cgroup.procs"]
    assert (tmp_path / cgroups.PARENT / IDENT / "node-1").is_dir()


def test_a_parent_that_never_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mounted", lambda: [Hierarchy(tmp_path, 1, "memory")])
    _lose_parent(monkeypatch, times=1000)
    with pytest.raises(errors.LocalkubeError, match="go while they are made"):
        cgroups.create(IDENT, "node-1")
