"""What a machine must offer: each lack is told with its remedy, and together."""

import ctypes
import os
import socket
from pathlib import Path

import pytest

from localkube import cgroups, clusters, errors, preflight
from localkube.cgroups import Hierarchy
from localkube.paths import Home
from localkube.progress import Progress
from localkube.spec import ClusterSpec

GIB = preflight.GIB
ALL_CONTROLLERS = "cpuset cpu io memory hugetlb pids"


def unified(directory: Path, controllers: str = ALL_CONTROLLERS) -> Hierarchy:
    directory.mkdir(exist_ok=True)
    (directory / "cgroup.controllers").write_text(f"{controllers}\n")
    return Hierarchy(directory, 2, "")


def test_only_linux_will_do() -> None:
    assert preflight.system("linux") is None
    assert "needs Linux" in (preflight.system("darwin") or "")


def test_only_root_will_do() -> None:
    assert preflight.user(0) is None
    assert preflight.user(1000) == "localkube needs root: run it with sudo"


def test_a_device_that_opens_is_fine() -> None:
    assert preflight.device(Path("/dev/null"), "null") is None


def test_a_missing_device_is_told_with_its_module(tmp_path: Path) -> None:
    said = preflight.device(tmp_path / "fuse", "fuse") or ""
    assert said.startswith(f"the device {tmp_path}/fuse is missing: load it with `modprobe fuse`")


def test_a_device_that_does_not_open_is_told_with_the_reason(tmp_path: Path) -> None:
    said = preflight.device(tmp_path, "fuse") or ""
    assert "cannot be opened (Is a directory)" in said


def test_one_tree_of_version_2_with_all_controllers_is_fine(tmp_path: Path) -> None:
    assert preflight.control_groups([unified(tmp_path)]) is None


def test_controllers_may_be_spread_over_both_versions(tmp_path: Path) -> None:
    trees = [
        Hierarchy(tmp_path, 1, "cpu,cpuacct"),
        Hierarchy(tmp_path, 1, "name=systemd"),
        Hierarchy(tmp_path, 1, "memory"),
        unified(tmp_path / "unified", "pids"),
    ]
    assert preflight.control_groups(trees) is None
    assert preflight.control_groups(trees[:3]) == (
        "the kernel offers no control groups for pids: enable them on the kernel's command line"
    )


def test_no_control_groups_at_all_are_told() -> None:
    assert "no control groups are mounted" in (preflight.control_groups([]) or "")


def test_control_groups_that_cannot_be_written_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path / "closed")
    trees = [unified(tmp_path / "open"), unified(tmp_path / "closed")]
    assert f"the control groups at {tmp_path}/closed are read-only" in (preflight.control_groups(trees) or "")


def test_namespaces_are_judged_by_making_some() -> None:
    assert preflight.namespaces(["true"]) is None
    said = preflight.namespaces(["sh", "-c", "echo Operation not permitted >&2; exit 1"]) or ""
    assert "does not let us make namespaces" in said
    assert "Operation not permitted" in said


def test_a_directory_that_does_not_exist_yet_is_measured_above(tmp_path: Path) -> None:
    assert preflight.nearest(tmp_path / "not" / "yet") == tmp_path
    assert preflight.free_space(tmp_path / "not" / "yet") > 0


def test_a_full_disk_is_told_once_for_all_that_lies_on_it(tmp_path: Path) -> None:
    places = (tmp_path / "state", tmp_path / "cache")
    assert preflight.disks(places, lambda _: 4 * GIB) == []
    assert preflight.disks(places, lambda _: 3 * GIB + GIB // 2) == [
        f"only 3.5 GiB of disk are free at {tmp_path}/state: make room for 4 GiB"
    ]


def test_two_disks_are_judged_apart(tmp_path: Path) -> None:
    free = {tmp_path: 1 * GIB, Path("/proc"): 9 * GIB}
    assert len(preflight.disks((tmp_path, Path("/proc")), free.__getitem__)) == 1
    free = {tmp_path: 1 * GIB, Path("/proc"): 2 * GIB}
    assert len(preflight.disks((tmp_path, Path("/proc")), free.__getitem__)) == 2


@pytest.mark.parametrize(
    ("kilobytes", "verdict"),
    [(2 << 20, None), (1 << 20, "only 1.0 GiB of memory are available: free some, 2 GiB are needed")],
)
def test_memory_is_judged_by_what_is_available(kilobytes: int, verdict: str | None) -> None:
    text = f"MemTotal:       99999999 kB\nMemFree:            1 kB\nMemAvailable:   {kilobytes} kB\n"
    assert preflight.memory(text) == verdict


def test_a_kernel_that_does_not_tell_its_memory_is_given_the_benefit_of_the_doubt() -> None:
    assert preflight.memory("MemTotal:       99999999 kB\n") is None


def test_without_root_only_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(preflight, "FUSE", tmp_path / "fuse")
    assert preflight.problems(Home(tmp_path, tmp_path)) == ["localkube needs root: run it with sudo"]


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A machine with everything, wherever the test runs."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(preflight, "FUSE", Path("/dev/null"))
    monkeypatch.setattr(preflight, "LOOP", Path("/dev/null"))
    monkeypatch.setattr(preflight, "NAMESPACES", ("true",))
    monkeypatch.setattr(cgroups, "mounted", lambda: [unified(tmp_path / "cgroup")])
    monkeypatch.setattr(preflight, "free_space", lambda _: 100 * GIB)
    monkeypatch.setattr(preflight, "NEEDED_MEMORY", 0)
    return Home(state=tmp_path / "state", cache=tmp_path / "cache")


def test_a_sound_machine_passes(sound: Home) -> None:
    preflight.check(sound)


def test_a_single_problem_is_the_whole_error(sound: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "free_space", lambda _: GIB)
    with pytest.raises(errors.LocalkubeError, match=r"^only 1\.0 GiB of disk are free"):
        preflight.check(sound)


@pytest.fixture
def full(sound: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A machine with everything but memory and disk, which is all used."""
    monkeypatch.setattr(preflight, "free_space", lambda _: 0)
    monkeypatch.setattr(preflight, "NEEDED_MEMORY", 1 << 60)
    return sound


class Content(Exception):  # noqa: N818 no error
    """The machine was judged, and found good enough."""


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def provide(*_: object) -> None:
        raise Content

    monkeypatch.setattr(clusters, "_provide", provide)


@pytest.mark.usefixtures("judged")
def test_a_cluster_that_runs_needs_neither_memory_nor_disk_that_is_free(
    full: Home, progress: Progress, cluster: ClusterSpec
) -> None:
    paths = full.cluster("x")
    with pytest.raises(errors.LocalkubeError, match=r"disk are free(?s:.*)memory are available"):
        clusters.up(full, clusters.Request("x"), progress)
    paths.root.mkdir(parents=True)
    cluster.save(paths.spec)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(paths.socket))
        listener.listen()
        with pytest.raises(Content):
            clusters.up(full, clusters.Request("x"), progress)


@pytest.mark.usefixtures("judged")
def test_who_starts_nothing_needs_disk_and_no_memory(
    full: Home, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.LocalkubeError, match=r"^only 0\.0 GiB of disk are free at \S+: make room for 4 GiB$"):
        clusters.prepare(full, progress)
    monkeypatch.setattr(preflight, "free_space", lambda _: 100 * GIB)
    with pytest.raises(Content):
        clusters.prepare(full, progress)


def test_several_problems_are_told_at_once(sound: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "FUSE", tmp_path / "fuse")
    monkeypatch.setattr(preflight, "LOOP", tmp_path / "loop-control")
    monkeypatch.setattr(preflight, "NAMESPACES", ("false",))
    monkeypatch.setattr(cgroups, "mounted", list)
    with pytest.raises(errors.LocalkubeError) as caught:
        preflight.check(sound)
    first, *problems = str(caught.value).splitlines()
    assert first == "this machine is not ready for a cluster:"
    assert [line.split()[1:3] for line in problems] == [
        ["the", "device"], ["the", "device"], ["no", "control"], ["this", "machine"],
    ]  # fmt: skip


def test_a_package_that_not_everybody_has_is_told_with_its_remedy() -> None:
    assert preflight.package("cryptography") is None
    said = preflight.package("no_such_package")
    assert said == (
        "the package no_such_package is not installed: `pip install 'paddle-operator[localkube]'` installs it, too"
    )


def test_a_machine_on_which_programs_may_watch_enough_files_is_fine() -> None:
    assert preflight.watchers(nodes=3, limit=128, taken=96) is None


def test_too_few_watchers_are_told_with_a_remedy() -> None:
    said = preflight.watchers(nodes=3, limit=128, taken=97) or ""
    assert said.startswith("programs of one user may have 128 inotify instances on this machine, 97 are taken, and a")
    assert said.endswith("cluster of 3 nodes needs 32: `sysctl fs.inotify.max_user_instances=1024` lets them have more")


def test_a_limit_that_cannot_be_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "WATCHERS", tmp_path / "nothing")
    assert preflight.watchers(3, preflight.watchers_allowed(), taken=1000) is None


def test_watchers_that_programs_have_are_counted() -> None:
    before = preflight.watchers_taken()
    watchers = [ctypes.CDLL(None).inotify_init() for _ in range(3)]
    counted = preflight.watchers_taken() - before
    for watcher in watchers:
        os.close(watcher)
    assert counted >= 3


def test_a_cluster_that_is_to_begin_is_refused_where_its_programs_could_not_watch_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limit").write_text("16\n")
    monkeypatch.setattr(preflight, "WATCHERS", tmp_path / "limit")
    monkeypatch.setattr(preflight, "problems", lambda *_, **__: [])
    with pytest.raises(errors.LocalkubeError, match="may have 16 inotify instances"):
        clusters.up(Home(tmp_path, tmp_path / "cache"), clusters.Request("some", nodes=3), Progress())
