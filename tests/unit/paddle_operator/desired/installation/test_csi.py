"""The CSI node plugin as a cluster gets it."""

from paddle_operator.desired.installation import csi

SETTINGS = csi.Settings("registry.example.org/paddle-operator:1", "elsewhere", "/data/kubelet", inject=False)


def test_the_driver_is_known_by_the_name_that_volumes_have() -> None:
    assert csi.driver()["metadata"]["name"] == "csi.juicefs.com"
    assert csi.driver()["spec"]["attachRequired"] is False


def test_no_pod_of_it_can_ask_the_api_server() -> None:
    pod = csi.daemon_set(SETTINGS)["spec"]["template"]["spec"]
    assert csi.account(SETTINGS)["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == csi.account(SETTINGS)["metadata"]["name"]


def test_the_settings_are_heeded_everywhere() -> None:
    daemons = csi.daemon_set(SETTINGS)
    pod = daemons["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert daemons["metadata"]["namespace"] == csi.account(SETTINGS)["metadata"]["namespace"] == "elsewhere"
    assert container["image"] == "registry.example.org/paddle-operator:1"
    assert container["args"] == ["csi-node", "--kubelet-dir=/data/kubelet", "--no-inject"]
    directories = [volume["hostPath"]["path"] for volume in pod["volumes"]]
    assert directories == ["/data/kubelet/plugins/csi.juicefs.com", "/data/kubelet/plugins_registry"]
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == directories


def test_a_copy_of_the_nodes_mounts_is_not_in_the_pod() -> None:
    """It would hold volumes that were let go of; and the plugin reaches the node's own mounts in another way."""
    (container,) = csi.daemon_set(SETTINGS)["spec"]["template"]["spec"]["containers"]
    assert [mount for mount in container["volumeMounts"] if "mountPropagation" in mount] == []
