"""First processes in groups of their own: real ones, of the kernel's second version."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localkube import cgroups
from localkube.init import launch

IDENT = f"{os.getpid():08x}"
NODE = "node-1"
# In a PID namespace of its own, so that who started it is not in it.
FIRST_PROCESS = ("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "grep ^0: /proc/self/cgroup; exec sleep 60")


@pytest.fixture
def group() -> Iterator[Path]:
    """Where a node has its groups; whatever the test leaves in there goes."""
    trees = [tree.mountpoint for tree in cgroups.mounted() if tree.version == cgroups.UNIFIED]
    if os.geteuid() != 0 or not trees or not (trees[0] / "cgroup.controllers").read_text().strip():
        pytest.skip("no control groups of version 2 here")
    yield trees[0] / cgroups.PARENT / IDENT / NODE
    cgroups.kill(IDENT)
    cgroups.remove(IDENT)


@contextmanager
def started() -> Iterator[str]:
    """Start one as a node's, and give the group that it sees itself in."""
    groups, inner = cgroups.create(IDENT, NODE), cgroups.create_inner(IDENT, NODE)
    argv = launch._joining(groups, launch.enclosed(FIRST_PROCESS, inner))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def hand_down(group: Path) -> None:
    for controller in (group / "cgroup.controllers").read_text().split():
        (group / "cgroup.subtree_control").write_text(f"+{controller}")


def test_a_node_sees_its_group_as_the_root_of_all_and_no_process_in_it(group: Path) -> None:
    with started() as seen:
        assert seen == "0::/system"
        assert (group / "cgroup.procs").read_text() == ""


def test_a_node_may_hand_controllers_down_and_be_started_again_after_that(group: Path) -> None:
    for _ in range(2):
        with started() as seen:
            assert seen == "0::/system"
            hand_down(group)
            assert (group / "cgroup.subtree_control").read_text().strip()
            (group / "kubepods").mkdir()


def test_a_cluster_may_send_processes_to_its_nodes_since_it_is_not_enclosed() -> None:
    assert "--cgroup" not in launch.cluster([], [])
    assert "--cgroup" in launch.node([], [], [])
