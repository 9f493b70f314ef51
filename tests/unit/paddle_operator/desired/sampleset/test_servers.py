"""The runtime servers of a set, as whole manifests."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.cli.runtime import runtime_server
from paddle_operator.desired.sampleset import servers
from paddle_operator.desired.sampleset.naming import volume_name
from support.samplesnapshots import IMAGE, SECRET, decoded, seen

OWNER = {
    "apiVersion": "batch.paddlepaddle.org/v1alpha1",
    "kind": "SampleSet",
    "name": "imagenet",
    "uid": "uid-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
LABELS = {"paddlepaddle.org/juicefs-imagenet": "true", "batch.paddlepaddle.org/sampleset": "imagenet"}
SELECTOR = {"paddlepaddle.org/juicefs-imagenet": "true", "name": "imagenet-runtime"}
ROOT = f"/dev/shm/{volume_name(decoded())}"


METADATA = {
    "secretName": "imagenet",
    "items": [{"key": "metaurl", "path": "metaurl"}],
    "defaultMode": 0o400,
    "optional": True,
}


def metadata(name: str) -> Manifest:
    return {
        "name": name,
        "namespace": "default",
        "labels": LABELS,
        "ownerReferences": [OWNER],
        "annotations": {"CreatedBy": "paddle-operator"},
    }


CACHED = {"key": sampleset_node_label("default", "imagenet"), "operator": "Exists"}
NEAR = {"weight": 100, "preference": {"matchExpressions": [CACHED]}}


def away(key: str) -> Manifest:
    return {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}


def on_node(name: str, path: str) -> Manifest:
    return {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}


def test_the_stateful_set_has_a_server_for_each_partition_and_no_two_on_a_node() -> None:
    apart = {"labelSelector": {"matchLabels": SELECTOR}, "topologyKey": "kubernetes.io/hostname"}
    assert servers.stateful_set(seen(), 3) == {
        "metadata": metadata("imagenet-runtime"),
        "spec": {
            "replicas": 3,
            "serviceName": "imagenet-runtime-service",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": SELECTOR},
            "template": {
                "metadata": {
                    "labels": {**LABELS, **SELECTOR},
                    "annotations": {"batch.paddlepaddle.org/secret-version": "version-1"},
                },
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 30,
                    "affinity": {
                        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [NEAR]},
                        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
                    },
                    "tolerations": [away("not-ready"), away("unreachable")],
                    "containers": [container()],
                    "volumes": [
                        {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
                        on_node("cache-0", f"{ROOT}/cache"),
                        on_node("spool", f"{ROOT}/spool"),
                        {"name": "token", "secret": {"secretName": "imagenet-runtime", "defaultMode": 0o400}},
                        {"name": "metadata", "secret": METADATA},
                    ],
                },
            },
        },
    }


def container() -> Manifest:
    return {
        "name": "runtime",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddle-operator", "runtime-server"],
        "env": [{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
        "args": [
            "--port=7716",
            "--pod-uid=$(POD_UID)",
            "--mount-path=/mnt/imagenet",
            "--cache-dirs=/cache/0",
            "--spool=/var/spool/paddle-operator",
            "--token-file=/etc/paddle-operator/runtime/token",
            "--metadata-file=/etc/paddle-operator/metadata/metaurl",
        ],
        "ports": [{"name": "runtime", "containerPort": 7716, "protocol": "TCP"}],
        "readinessProbe": servers.probe("/readyz", 5),
        "livenessProbe": servers.probe("/healthz", 20),
        "resources": servers.RESOURCES,
        "securityContext": servers.SECURITY,
        "volumeMounts": [
            {"name": "data", "mountPath": "/mnt/imagenet", "mountPropagation": "HostToContainer"},
            {"name": "cache-0", "mountPath": "/cache/0"},
            {"name": "spool", "mountPath": "/var/spool/paddle-operator"},
            {"name": "token", "mountPath": "/etc/paddle-operator/runtime", "readOnly": True},
            {"name": "metadata", "mountPath": "/etc/paddle-operator/metadata", "readOnly": True},
        ],
    }


def test_the_command_takes_what_it_is_given() -> None:
    spec = servers.pod_spec(seen(decoded(cache={"levels": [{"mediumType": "SSD", "path": "/a:/b"}]})))
    assert spec["containers"][0]["command"] == ["paddle-operator", runtime_server.name]
    given = runtime_server.make_context("runtime-server", list(spec["containers"][0]["args"])).params
    assert [str(path) for path in given["cache_dirs"]] == ["/cache/0", "/cache/1"]
    assert (str(given["mount_path"]), given["port"]) == ("/mnt/imagenet", 7716)


def test_a_secret_of_another_namespace_is_not_mounted() -> None:
    spec = servers.pod_spec(seen(decoded(secretRef={"name": "imagenet", "namespace": "other"})))
    assert "metadata" not in [volume["name"] for volume in spec["volumes"]]
    assert "--metadata-file" not in str(spec)


def test_the_service_names_each_server_also_while_it_is_not_ready() -> None:
    assert servers.service(decoded()) == {
        "metadata": metadata("imagenet-runtime-service"),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": SELECTOR,
            "ports": [{"name": "service", "port": 7716, "targetPort": "runtime", "protocol": "TCP"}],
        },
    }


def test_the_token_is_in_its_own_secret_and_not_in_what_is_printed() -> None:
    made = servers.token_secret(seen())
    assert (made["metadata"], made["data"]) == (metadata("imagenet-runtime"), {"token": "dG9rZW4="})
    assert "'token'" not in repr(seen()).replace("'name': 'token'", "")


def test_the_server_has_no_power_over_its_node() -> None:
    spec = servers.pod_spec(seen())
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & spec.keys()
    assert "privileged" not in str(spec)
    assert "lifecycle" not in spec["containers"][0], "the original's emptied the cache whenever a server ended"
    assert servers.SECURITY["allowPrivilegeEscalation"] is False


def test_nodes_and_tolerations_that_the_user_names_are_kept() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    near = {"weight": 1, "preference": term}
    nodes = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}, preferred: [near]}
    mine = {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}
    spec = servers.pod_spec(seen(decoded(nodeAffinity=nodes, tolerations=[mine])))
    assert spec["affinity"]["nodeAffinity"] == {**nodes, preferred: [near, NEAR]}
    assert spec["tolerations"] == [mine, away("not-ready")]
    assert servers.tolerations(decoded(tolerations=[{"operator": "Exists"}])) == [{"operator": "Exists"}]


def test_a_secret_that_is_gone_rolls_no_server() -> None:
    before = servers.stateful_set(seen(), 1)
    assert servers.stateful_set(seen(secrets={SECRET: None}, stateful_set=before), 1) == before


@pytest.mark.parametrize("name", ["a", "a-name-that-is-longer-than-a-port-may-be"])
def test_names_of_ports_and_volumes_follow_from_no_name_or_path_of_the_users(name: str) -> None:
    """In the original, long names and paths with capitals made a StatefulSet that the API server refused."""
    levels = [{"mediumType": "SSD", "path": "/Data_1/.Cache/:/tmp"}]
    spec = servers.pod_spec(seen(decoded(metadata={"name": name}, cache={"levels": levels})))
    assert [volume["name"] for volume in spec["volumes"]] == [
        "data",
        "cache-0",
        "cache-1",
        "spool",
        "token",
        "metadata",
    ]
    assert spec["containers"][0]["ports"][0]["name"] == "runtime"
