"""Storage as drivers do it: a FUSE mount that leaves its pod, and a CSI driver that the kubelet finds."""

from collections.abc import Iterator

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import workloads

DRIVER = "testbox.example.org"


def _with_volume(manifest: workloads.Manifest, path: str, propagation: str) -> workloads.Manifest:
    """Mount a node's path at the same place in the pod."""
    manifest["spec"].setdefault("volumes", []).append(
        {"name": "shared", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
    )
    mount = {"name": "shared", "mountPath": path, "mountPropagation": propagation}
    manifest["spec"]["containers"][0].setdefault("volumeMounts", []).append(mount)
    return manifest


def _privileged(name: str, node: str, *command: str) -> workloads.Manifest:
    manifest = workloads.pod(name, workloads.pod_spec(*command, node=node))
    manifest["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return manifest


def test_a_fuse_mount_in_a_pod_is_seen_by_the_node_and_by_a_second_pod(kube: Cluster, namespace: Kubectl) -> None:
    script = "mkdir -p /data /mnt/fuse/view && echo hello > /data/file && exec bindfs -f /data /mnt/fuse/view"
    mounter = _with_volume(_privileged("mounter", "node-1", "sh", "-c", script), "/mnt/fuse", "Bidirectional")
    reader = _with_volume(workloads.sleeping_pod("reader", "node-1"), "/mnt/fuse", "HostToContainer")
    namespace.apply(mounter, reader)
    namespace.wait("condition=Ready", "pod/mounter", "pod/reader")
    inside = kube.node("node-1").control.run_inside
    wait_until(
        lambda: "fuse" in inside(["stat", "-f", "-c", "%T", "/mnt/fuse/view"]), 30, "the node sees no FUSE mount"
    )
    assert inside(["cat", "/mnt/fuse/view/file"]) == "hello\n"
    assert namespace.execute("reader", "cat", "/mnt/fuse/view/file") == "hello\n"
    assert inside(["stat", "-f", "-c", "%T", "/mnt/fuse/view"]).strip().startswith("fuse")
    namespace.run("delete", "pod", "reader", "mounter", "--wait")
    wait_until(lambda: "bindfs" not in inside(["cat", "/proc/1/mounts"]), 90, "the mount outlives its pod")


def test_a_mount_on_one_node_is_not_seen_on_another_or_on_this_machine(kube: Cluster) -> None:
    first, second = (kube.node(name).control.run_inside for name in ("node-1", "node-2"))
    first(["mkdir", "-p", "/mnt/only"])
    first(["mount", "-t", "tmpfs", "tmpfs", "/mnt/only"])
    try:
        assert " /mnt/only " in first(["cat", "/proc/1/mounts"])
        assert " /mnt/only " not in second(["cat", "/proc/1/mounts"])
        with open("/proc/mounts", encoding="utf-8") as own:  # noqa: PTH123 a file of the kernel's
            assert " /mnt/only " not in own.read()
    finally:
        first(["umount", "/mnt/only"])


@pytest.fixture
def csi_driver(namespace: Kubectl) -> Iterator[str]:
    """A CSI driver on every node, gone afterwards."""
    registered = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral", "Persistent"]},
    }
    pod = _privileged("csi", "", "python3", "/opt/testbox/csi_driver.py", DRIVER)["spec"]
    del pod["nodeSelector"]
    pod["containers"][0]["env"] = [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    _with_volume({"spec": pod}, "/var/lib/kubelet", "Bidirectional")
    daemons = workloads.replicated("DaemonSet", "csi", 0, pod)
    del daemons["spec"]["replicas"]
    namespace.apply(registered, daemons)
    namespace.rolled_out("daemonset/csi")
    yield DRIVER
    namespace.run("delete", "pods", "--all", "--wait", "--ignore-not-found")
    namespace.run("delete", "daemonset/csi", f"csidriver/{DRIVER}", "--wait")


def _drivers(kubectl: Kubectl) -> dict[str, list[str]]:
    return {
        node["metadata"]["name"]: [driver["name"] for driver in node["spec"].get("drivers") or ()]
        for node in kubectl.items("csinodes")
    }


def test_a_csi_driver_registers_on_every_node_and_serves_a_volume(
    kube: Cluster, namespace: Kubectl, csi_driver: str
) -> None:
    everywhere = {node.name: [csi_driver] for node in kube.nodes}
    wait_until(lambda: _drivers(namespace) == everywhere, 60, "the driver is not registered on every node")
    client = workloads.sleeping_pod("client", "node-2")
    client["spec"]["volumes"] = [{"name": "data", "csi": {"driver": csi_driver}}]
    client["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    namespace.apply(client)
    namespace.wait("condition=Ready", "pod/client")
    assert namespace.execute("client", "cat", "/data/hello").startswith("csi-")
