"""Nodes are machines of their own: their paths, their disks, their death and their return."""

import pytest

from localkube import errors, faults
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.waiting import wait_until
from support import workloads


def _host_path_pod(name: str, node: str, path: str) -> workloads.Manifest:
    manifest = workloads.sleeping_pod(name, node)
    manifest["spec"]["volumes"] = [{"name": "host", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}]
    manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "host", "mountPath": "/host"}]
    return manifest


@pytest.mark.parametrize("path", ["/dev/shm/cache", "/mnt/cache", "/var/lib/cache", "/data/cache", "/tmp/cache"])
def test_a_path_on_one_node_is_not_that_path_on_another(namespace: Kubectl, path: str) -> None:
    namespace.apply(
        _host_path_pod("writer", "node-1", path),
        _host_path_pod("neighbour", "node-1", path),
        _host_path_pod("elsewhere", "node-2", path),
    )
    namespace.wait("condition=Ready", "pod", "--all")
    namespace.execute("writer", "touch", "/host/mark")
    assert namespace.execute("neighbour", "ls", "/host") == "mark\n"
    assert namespace.execute("elsewhere", "ls", "/host") == ""
    namespace.execute("writer", "rm", "/host/mark")


def test_a_node_sees_this_machines_programs_but_cannot_change_them(kube: Cluster) -> None:
    inside = kube.node("node-1").control.run_inside
    with pytest.raises(errors.CommandFailedError, match="Read-only file system"):
        inside(["touch", "/usr/bin/intruder"])
    with pytest.raises(errors.CommandFailedError, match="No such file"):
        inside(["cat", "/etc/shadow"])


def test_kernel_settings_of_this_machine_are_left_alone(kube: Cluster) -> None:
    """The kubelet wants vm.overcommit_memory=1 for the whole machine; it is shown that value and nothing is set."""
    shown = kube.node("node-1").control.run_inside(["cat", "/proc/sys/vm/overcommit_memory"])
    assert shown.strip() == "1"
    mounts = kube.node("node-1").control.run_inside(["cat", "/proc/1/mounts"])
    assert "/proc/sys/vm/overcommit_memory" in mounts


def test_a_killed_node_becomes_not_ready_and_comes_back_with_its_disk(
    kube: Cluster, namespace: Kubectl, victim: Node
) -> None:
    namespace.apply(_host_path_pod("resident", victim.name, "/mnt/kept"))
    namespace.wait("condition=Ready", "pod/resident")
    namespace.execute("resident", "sh", "-c", "echo data > /host/file")
    victim.kill()
    assert not victim.control.alive()
    wait_until(lambda: victim.name not in kube.api.ready_nodes(), 60, "nobody noticed that the node is gone")
    victim.start()
    wait_until(lambda: victim.name in kube.api.ready_nodes(), 60, "the node does not come back")
    assert victim.control.run_inside(["cat", "/mnt/kept/file"]) == "data\n"
    namespace.run("delete", "pod", "resident", "--force", "--ignore-not-found")
    namespace.apply(_host_path_pod("newcomer", victim.name, "/mnt/kept"))
    namespace.wait("condition=Ready", "pod/newcomer")
    assert namespace.execute("newcomer", "cat", "/host/file") == "data\n"


def test_pods_of_a_killed_node_run_again_when_it_is_back(namespace: Kubectl, victim: Node) -> None:
    namespace.apply(workloads.sleeping_pod("resident", victim.name))
    namespace.wait("condition=Ready", "pod/resident")
    victim.kill()
    assert not victim.control.alive()
    victim.start()

    def restarted() -> bool:
        status = namespace.get("pod/resident")["status"]["containerStatuses"][0]
        return bool(status["ready"]) and status["restartCount"] == 1

    wait_until(restarted, 90, "the pod did not start again")


def test_a_stopped_node_is_off_until_it_is_started(kube: Cluster, victim: Node) -> None:
    victim.stop()
    assert not victim.control.alive()
    with pytest.raises(errors.NotRunningError, match="node node-3 is not running"):
        victim.stop()
    victim.start()
    wait_until(lambda: victim.name in kube.api.ready_nodes(), 60, "the node does not come back")


def test_a_node_that_cannot_come_up_says_why_at_once(victim: Node) -> None:
    victim.stop()
    kept = victim.paths.disk.rename(victim.paths.disk.with_name("kept.img"))
    victim.paths.disk.write_bytes(bytes(1 << 20))
    try:
        told = r"node node-3 did not come up; see \S+/logs/node-3.log: .*e2fsck"
        with pytest.raises(errors.LocalkubeError, match=told):
            victim.start()
    finally:
        kept.rename(victim.paths.disk)


def test_a_killed_kubelet_comes_back_and_pods_do_not_notice(kube: Cluster, namespace: Kubectl) -> None:
    namespace.apply(workloads.sleeping_pod("steady", "node-1"))
    namespace.wait("condition=Ready", "pod/steady")
    control = kube.node("node-1").control
    before = control.status()["kubelet"]
    faults.component(kube, "node-1/kubelet").kill()
    wait_until(lambda: control.status()["kubelet"].restarts == before.restarts + 1, 90, "the kubelet stays dead")
    wait_until(lambda: namespace.execute("steady", "echo", "here") == "here\n", 60, "exec does not come back")
    assert namespace.get("pod/steady")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_full_disk_refuses_writes_tells_the_scheduler_and_loses_no_image(kube: Cluster, namespace: Kubectl) -> None:
    node = kube.node("node-2")
    namespace.apply(_host_path_pod("writer", node.name, "/mnt/full"))
    namespace.wait("condition=Ready", "pod/writer")
    faults.fill_disk(node, leave=4 << 20)
    try:
        with pytest.raises(errors.CommandFailedError) as refused:
            namespace.execute("writer", "dd", "if=/dev/zero", "of=/host/file", "bs=1M", "count=16")
        assert "No space left on device" in refused.value.output

        def under_pressure() -> bool:
            conditions = namespace.get("node", node.name)["status"]["conditions"]
            return any(row["type"] == "DiskPressure" and row["status"] == "True" for row in conditions)

        wait_until(under_pressure, 60, "the kubelet does not report a full disk")
    finally:
        faults.empty_disk(node)
        node.control.run_inside(["rm", "--recursive", "--force", "/mnt/full"])
        kube.wait_ready()
    namespace.apply(workloads.sleeping_pod("afterwards", node.name))
    namespace.wait("condition=Ready", "pod/afterwards")


def test_a_full_disk_takes_nothing_of_this_machines_disk(kube: Cluster) -> None:
    node = kube.node("node-1")
    before = node.paths.disk.stat().st_blocks * 512
    taken = faults.fill_disk(node, leave=2 << 30)
    try:
        assert taken > 10 << 30
        assert node.paths.disk.stat().st_blocks * 512 - before < 256 << 20
    finally:
        faults.empty_disk(node)
